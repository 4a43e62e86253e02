// SPDX-License-Identifier: Apache-2.0
#include "session/worker_messages.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace vitrine::session {
namespace {

struct Running {
  boost::asio::io_context context;
  Execution execution{context.get_executor(), ExecRequest{.code = "x"}, 1u << 20};

  Status apply(wire::Type type, std::string payload) {
    return session::apply_worker_message(
        {.type = type, .execution = 1, .payload = std::move(payload)}, execution);
  }
};

TEST(Hear, PutsAResultIntoTheExecution) {
  Running running;
  wire::ResultBundle bundle;
  bundle.data = {{"text/plain", "42"}};

  ASSERT_TRUE(running.apply(wire::Type::result, bundle.encode()));

  ASSERT_EQ(running.execution.record.results.size(), 1u);
}

TEST(Hear, TakesOneErrorAndNoSecond) {
  Running running;
  const std::string report = wire::ErrorReport{"ValueError", "no", "Traceback"}.encode();

  ASSERT_TRUE(running.apply(wire::Type::error, report));
  ASSERT_TRUE(running.execution.record.error);
  EXPECT_EQ(running.execution.record.error->name, "ValueError");
  EXPECT_FALSE(running.apply(wire::Type::error, report));
}

TEST(Hear, KeepsAFewNotesAndNoneThatIsNoText) {
  Running running;

  for (std::size_t i = 0; i < wire::kMaxNotes + 10; ++i)
    ASSERT_TRUE(running.apply(wire::Type::note, "note " + std::to_string(i)));

  EXPECT_LE(running.execution.record.notes.size(), wire::kMaxNotes);
  EXPECT_FALSE(running.apply(wire::Type::note, "\xff\xfe"));
}

TEST(Hear, KnowsWhereTheCodeIs) {
  Running running;

  ASSERT_TRUE(running.apply(wire::Type::line, wire::Line{.number = 12}.encode()));
  ASSERT_TRUE(running.apply(wire::Type::stack, "line 12, in f"));
  ASSERT_TRUE(running.apply(wire::Type::stack, "\xff"));

  EXPECT_EQ(running.execution.line, 12u);
  EXPECT_EQ(running.execution.stacks, 2u);
  EXPECT_EQ(running.execution.stack, "") << "what is no text is no stack";
}

TEST(Hear, RefusesWhatMakesNoSense) {
  Running running;

  EXPECT_FALSE(running.apply(wire::Type::result, "nonsense"));
  EXPECT_FALSE(running.apply(wire::Type::error, "nonsense"));
  EXPECT_FALSE(running.apply(wire::Type::line, "nonsense"));
  EXPECT_FALSE(running.apply(wire::Type::ready, ""));
  EXPECT_FALSE(running.apply(wire::Type::execute, ""));
  EXPECT_TRUE(running.execution.record.results.empty());
}

TEST(OutcomeOf, IsATimeoutWhateverTheWorkerClaims) {
  EXPECT_EQ(outcome_of(wire::Claim::ok, true), Outcome::timeout);
  EXPECT_EQ(outcome_of(wire::Claim::ok, false), Outcome::ok);
  EXPECT_EQ(outcome_of(wire::Claim::interrupted, false), Outcome::interrupted);
}

}  // namespace
}  // namespace vitrine::session
