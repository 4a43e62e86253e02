// SPDX-License-Identifier: Apache-2.0
#include "session/feed.h"

#include <gtest/gtest.h>

#include "testing/front.h"

namespace vitrine::session {
namespace {

std::string text_of(const std::optional<FeedEvent>& event) {
  if (!event) return "<end>";
  if (const auto* gap = std::get_if<FeedGap>(&event->item))
    return "<gap " + std::to_string(gap->events) + ">";
  const auto* one = std::get_if<Event>(&event->item);
  const auto* note = one == nullptr ? nullptr : std::get_if<NoteEvent>(one);
  return note == nullptr ? "<other>" : note->text;
}

class FeedTest : public ::testing::Test {
 protected:
  void note(const std::string& text) { log->append("e1", Event(NoteEvent{text})); }
  std::string next(Feed& feed) { return text_of(front.run(feed.next())); }

  vitrine::testing::Front front;
  std::shared_ptr<FeedLog> log = std::make_shared<FeedLog>(front.context.get_executor());
};

TEST_F(FeedTest, GivesEveryReaderWhatHappensFromItsBeginningOn) {
  Feed first(log);
  note("a");
  Feed second(log);
  note("b");

  EXPECT_EQ(next(first), "a");
  EXPECT_EQ(next(first), "b");
  EXPECT_EQ(next(second), "b");
}

TEST_F(FeedTest, KeepsNothingBeforeTheFirstReader) {
  note("a");
  Feed from_the_start(log, 0);
  note("b");

  EXPECT_EQ(next(from_the_start), "b");
}

TEST_F(FeedTest, ContinuesAfterACursor) {
  Feed first(log);
  note("a");
  note("b");
  note("c");
  const std::uint64_t cursor = front.run(first.next())->cursor;

  Feed again(log, cursor);

  EXPECT_EQ(next(again), "b");
  EXPECT_EQ(next(again), "c");
}

TEST_F(FeedTest, TellsASlowReaderHowManyEventsItMissedAndGoesOn) {
  Feed slow(log);
  const std::string large(300'000, 'x');
  for (int i = 0; i < 6; ++i) note(large);
  note("newest");

  EXPECT_EQ(next(slow), "<gap 3>");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next(slow), large);
  EXPECT_EQ(next(slow), "newest");
}

TEST_F(FeedTest, KeepsTheNewestEventWhateverItWeighs) {
  Feed reader(log);
  note("before");
  note(std::string(3'000'000, 'x'));

  EXPECT_EQ(next(reader), "<gap 1>");
  EXPECT_EQ(next(reader).size(), 3'000'000u);
}

TEST_F(FeedTest, TellsOfAGapToTheCursorOfAnEarlierServer) {
  Feed reader(log, 500);
  note("a");

  EXPECT_EQ(next(reader), "<gap 0>");
  EXPECT_EQ(next(reader), "a");
}

TEST_F(FeedTest, EndsForWaitingAndLaterReadersOnceItIsClosed) {
  Feed reader(log);
  auto waits = front.start(reader.next());
  ASSERT_FALSE(waits.is_done());

  log->close();
  front.settle();

  EXPECT_EQ(text_of(waits.value()), "<end>");
  note("too late");
  Feed late(log, 0);
  EXPECT_EQ(next(late), "<end>");
}

}  // namespace
}  // namespace vitrine::session
