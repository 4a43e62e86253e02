// SPDX-License-Identifier: Apache-2.0
#include "session/event_log.h"

#include <gtest/gtest.h>

#include "testing/front.h"

namespace vitrine::session {
namespace {

std::string text_of(const std::optional<Event>& event) {
  if (!event) return "<end>";
  if (const auto* output = std::get_if<OutputEvent>(&*event)) return output->text;
  if (const auto* note = std::get_if<NoteEvent>(&*event)) return note->text;
  return "<other>";
}

class EventLogTest : public ::testing::Test {
 protected:
  void note(const std::string& text) { log->append(NoteEvent{text}, text.size()); }
  std::string next(EventLog::Reader& reader) { return text_of(front.run(reader.next())); }
  // So many events, one after the other; they must be there.
  std::vector<std::string> take(EventLog::Reader& reader, int count) {
    return front.run(read(reader, count));
  }
  static boost::asio::awaitable<std::vector<std::string>> read(EventLog::Reader& reader,
                                                               int count) {
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) texts.push_back(text_of(co_await reader.next()));
    co_return texts;
  }

  vitrine::testing::Front front;
  std::shared_ptr<EventLog> log = std::make_shared<EventLog>(front.context.get_executor());
};

TEST_F(EventLogTest, GivesEveryReaderEveryEventInOrder) {
  EventLog::Reader first(log);
  EventLog::Reader second(log);
  note("a");
  note("b");

  EXPECT_EQ(next(first), "a");
  EXPECT_EQ(next(first), "b");
  EXPECT_EQ(next(second), "a");
  note("c");
  EXPECT_EQ(next(second), "b");
  EXPECT_EQ(next(second), "c");
  EXPECT_EQ(next(first), "c");
}

TEST_F(EventLogTest, WakesEveryReaderThatWaits) {
  EventLog::Reader first(log);
  EventLog::Reader second(log);
  auto one = front.start(first.next());
  auto two = front.start(second.next());
  ASSERT_FALSE(one.is_done());

  note("a");
  front.settle();

  EXPECT_EQ(text_of(one.value()), "a");
  EXPECT_EQ(text_of(two.value()), "a");
}

TEST_F(EventLogTest, EndsForEveryReaderOnceItIsClosed) {
  EventLog::Reader first(log);
  auto waits = front.start(first.next());

  log->close();
  front.settle();

  EXPECT_EQ(text_of(waits.value()), "<end>");
  EventLog::Reader late(log);
  EXPECT_EQ(next(late), "<end>");
}

TEST_F(EventLogTest, HasTheBacklogOfTheSlowestReader) {
  EventLog::Reader fast(log);
  EventLog::Reader slow(log);
  note(std::string(1000, 'x'));
  note(std::string(1000, 'y'));

  take(fast, 2);
  EXPECT_GE(log->backlog(), 2000u) << "the fast one has taken all, the slow one nothing";
  take(slow, 1);
  EXPECT_LT(log->backlog(), 2000u);
  EXPECT_GE(log->backlog(), 1000u);
  take(slow, 1);
  EXPECT_EQ(log->backlog(), 0u);
}

TEST_F(EventLogTest, HasNoBacklogWhileNobodyReads) {
  note(std::string(1000, 'x'));
  EXPECT_EQ(log->backlog(), 0u);
  {
    EventLog::Reader late(log);
    EXPECT_GE(log->backlog(), 1000u);
  }
  EXPECT_EQ(log->backlog(), 0u);
}

boost::asio::awaitable<bool> wait_for(EventLog& log, std::size_t limit) {
  co_await log.caught_up(limit);
  co_return true;
}

TEST_F(EventLogTest, HoldsUpTheWriterUntilTheSlowestReaderHasCaughtUp) {
  EventLog::Reader fast(log);
  EventLog::Reader slow(log);
  note(std::string(1000, 'x'));
  auto writer = front.start(wait_for(*log, 500));

  take(fast, 1);
  EXPECT_FALSE(writer.is_done());
  take(slow, 1);
  front.settle();

  EXPECT_TRUE(writer.is_done());
}

TEST_F(EventLogTest, LetsTheWriterGoOnWhenTheSlowReaderLeavesOrTheLogIsClosed) {
  EventLog::Reader fast(log);
  auto slow = std::make_optional<EventLog::Reader>(log);
  note(std::string(1000, 'x'));
  take(fast, 1);
  auto left = front.start(wait_for(*log, 500));
  slow.reset();
  front.settle();
  EXPECT_TRUE(left.is_done());

  note(std::string(1000, 'y'));
  auto closed = front.start(wait_for(*log, 500));
  EXPECT_FALSE(closed.is_done());
  log->close();
  front.settle();
  EXPECT_TRUE(closed.is_done());
}

TEST_F(EventLogTest, JoinsOutputThatNobodyHasTaken) {
  EventLog::Reader reader(log);
  log->append_output(Stream::out, "a");
  log->append_output(Stream::out, "b");
  log->append_output(Stream::err, "c");

  EXPECT_EQ(next(reader), "ab");
  EXPECT_EQ(next(reader), "c");
}

TEST_F(EventLogTest, DoesNotChangeAnEventThatTheFastestReaderHas) {
  EventLog::Reader fast(log);
  EventLog::Reader slow(log);
  log->append_output(Stream::out, "a");
  EXPECT_EQ(next(fast), "a");
  log->append_output(Stream::out, "b");

  EXPECT_EQ(next(slow), "a");
  EXPECT_EQ(next(slow), "b");
  EXPECT_EQ(next(fast), "b");
}

TEST_F(EventLogTest, KeepsEveryEventThatTheSlowestReaderHasNotTaken) {
  EventLog::Reader fast(log);
  EventLog::Reader slow(log);
  constexpr int kMany = 45'000;  // more than are kept for nobody
  for (int i = 0; i < kMany; ++i) note(std::to_string(i));

  take(fast, kMany);

  const std::vector<std::string> seen = take(slow, kMany);
  for (int i = 0; i < kMany; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_F(EventLogTest, DropsWhatEveryReaderHasTakenOnceItIsMuch) {
  EventLog::Reader reader(log);
  for (int i = 0; i < 45'000; ++i) note(std::to_string(i));
  take(reader, 45'000);
  note("last");

  EventLog::Reader late(log);

  EXPECT_NE(next(late), "0");
  EXPECT_GT(log->backlog(), 0u);
}

}  // namespace
}  // namespace vitrine::session
