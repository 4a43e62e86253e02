// SPDX-License-Identifier: Apache-2.0
#include "session/execution.h"

#include <gtest/gtest.h>

#include "testing/front.h"

namespace vitrine::session {
namespace {

using std::chrono::milliseconds;

class ExecutionTest : public ::testing::Test {
 protected:
  std::shared_ptr<Execution> make(std::size_t output_limit = 1 << 20) {
    return std::make_shared<Execution>(front.context.get_executor(), ExecRequest{.code = "1"},
                                       output_limit);
  }
  // All events, by their kind in the variant.
  std::vector<Event> read_all(Execution& execution) {
    EventLog::Reader reader(execution.events());
    std::vector<Event> all;
    while (std::optional<Event> event = front.run(reader.next())) all.push_back(std::move(*event));
    return all;
  }

  vitrine::testing::Front front;
};

ResultEvent plain(const std::string& text) {
  return {.kind = wire::ResultKind::value,
          .display_id = "",
          .data = {{"text/plain", text}},
          .metadata = "{}"};
}

TEST_F(ExecutionTest, TellsALateReaderEverythingAndThenItsEnd) {
  auto execution = make();
  execution->add_output(Stream::out, "hello\n");
  execution->add_result(plain("42"));
  execution->finish();

  const std::vector<Event> seen = read_all(*execution);

  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(std::get<OutputEvent>(seen[0]).text, "hello\n");
  EXPECT_EQ(std::get<ResultEvent>(seen[1]).data[0].second, "42");
  EXPECT_TRUE(std::holds_alternative<FinishedEvent>(seen[2]));
  EXPECT_EQ(execution->record.out, "hello\n");
  EXPECT_EQ(execution->record.state, "finished");
}

TEST_F(ExecutionTest, FinishesOnce) {
  auto execution = make();
  execution->finish();
  execution->finish();

  EXPECT_EQ(read_all(*execution).size(), 1u);
}

TEST_F(ExecutionTest, IsWaitedForOnlySoLong) {
  auto execution = make();
  auto waits = front.start(execution->finished_within(milliseconds(50)));
  front.advance(milliseconds(49));
  EXPECT_FALSE(waits.is_done());
  front.advance(milliseconds(2));
  EXPECT_FALSE(waits.value());

  auto again = front.start(execution->finished_within(milliseconds(50)));
  execution->finish();
  front.settle();
  EXPECT_TRUE(again.value());
}

TEST_F(ExecutionTest, ShowsHalfACharacterWithTheRestOfIt) {
  auto execution = make();
  execution->add_output(Stream::out, "\xc3");
  execution->add_output(Stream::out, "\xa9");
  execution->finish();

  EXPECT_EQ(std::get<OutputEvent>(read_all(*execution)[0]).text, "\xc3\xa9");
}

TEST_F(ExecutionTest, KeepsResultsWithinTheOutputLimitAndSaysSo) {
  auto execution = make(100);
  execution->add_result(plain(std::string(90, 'x')));
  execution->add_result(plain(std::string(90, 'y')));
  execution->finish();

  EXPECT_EQ(execution->record.results.size(), 1u);
  ASSERT_EQ(execution->record.notes.size(), 1u);
  EXPECT_NE(execution->record.notes[0].find("left out"), std::string::npos);
}

TEST_F(ExecutionTest, ReplacesADisplayThatIsUpdated) {
  auto execution = make();
  ResultEvent shown = plain("0 %");
  shown.kind = wire::ResultKind::display;
  shown.display_id = "bar";
  execution->add_result(shown);
  shown.kind = wire::ResultKind::update_display;
  shown.data[0].second = "100 %";
  execution->add_result(shown);
  execution->finish();

  ASSERT_EQ(execution->record.results.size(), 1u);
  EXPECT_EQ(execution->record.results[0][0].second, "100 %");
  EXPECT_EQ(read_all(*execution).size(), 3u) << "who watches sees both";
}

TEST_F(ExecutionTest, TakesOnlySoManyNotes) {
  auto execution = make();
  for (int i = 0; i < 1000; ++i) execution->add_note("n");

  EXPECT_EQ(execution->record.notes.size(), 64u);
}

}  // namespace
}  // namespace vitrine::session
