// SPDX-License-Identifier: Apache-2.0
// A stream whose other end changes: a client that dies in the middle of a message, a new reader.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/assembler_testing.h"

namespace vitrine::wire {
namespace {

// -- a client that dies in the middle of a message (seen by the worker)

TEST(AssemblerOfClientFrames, CountsTheFramesOfEachMessageFromZero) {
  const Outcome outcome =
      feed(cut({Type::setup, 0, 0, "s"}, 9) + cut({Type::execute, 1, 0, "abcdef"}, 2) +
               cut({Type::input, 1, 0, "i"}, 9) + cut({Type::input, 1, 0, "j"}, 9),
           Direction::from_client);

  ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
  ASSERT_EQ(outcome.messages.size(), 4u);
  EXPECT_EQ(outcome.messages[1].payload, "abcdef");
}

TEST(AssemblerOfClientFrames, ForgetsAMessageThatItsSenderDidNotFinish) {
  const std::vector<Piece> whole = cut({Type::execute, 1, 0, "abcdefgh"}, 2);
  for (std::size_t sent = 1; sent < whole.size(); ++sent) {
    const std::vector<Piece> begun(whole.begin(),
                                   whole.begin() + static_cast<std::ptrdiff_t>(sent));

    const Outcome outcome =
        feed(begun + cut({Type::resume, 0, 0, ""}, 9) + cut({Type::execute, 1, 0, "again"}, 2),
             Direction::from_client);

    ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
    ASSERT_EQ(outcome.messages.size(), 2u);
    EXPECT_EQ(outcome.messages[0].type, Type::resume);
    EXPECT_EQ(outcome.messages[1].payload, "again") << "nothing of the message before";
  }
}

TEST(AssemblerOfClientFrames, ForgetsItAlsoForAMessageOfTheSameExecutionAndType) {
  std::vector<Piece> begun = cut({Type::execute, 1, 0, "old old"}, 2);
  begun.pop_back();

  const Outcome outcome =
      feed(begun + cut({Type::execute, 1, 0, "new"}, 2), Direction::from_client);

  ASSERT_TRUE(outcome.status);
  ASSERT_EQ(outcome.messages.size(), 1u);
  EXPECT_EQ(outcome.messages[0].payload, "new");
}

TEST(AssemblerOfClientFrames, RefusesAMessageThatDoesNotStartAtZero) {
  expect_lie(feed(cut({Type::execute, 1, 0, "a"}, 9) + cut({Type::input, 1, 1, "b"}, 9),
                  Direction::from_client),
             1);
}

TEST(AssemblerOfClientFrames, RefusesTheRestOfAForgottenMessage) {
  const std::vector<Piece> whole = cut({Type::execute, 1, 0, "abcd"}, 2);

  expect_lie(
      feed({whole[0], cut({Type::resume, 0, 0, ""}, 9)[0], whole[1]}, Direction::from_client), 2);
}

TEST(AssemblerOfClientFrames, RefusesALostFrame) {
  std::vector<Piece> pieces = cut({Type::execute, 1, 0, "abcdef"}, 2);
  pieces.erase(pieces.begin() + 1);

  expect_lie(feed(pieces, Direction::from_client), 1);
}

// -- adoption: a new reader on an old stream

TEST(AssemblerAdopt, GoesOnFromAnyFrameAndDropsExactlyTheTail) {
  const std::vector<Piece> stream = cut({Type::result, 5, 0, "abcdef"}, 2) + cut(note(5, 3), 99) +
                                    cut({Type::error, 5, 4, "ghijkl"}, 2) +
                                    cut({Type::finished, 5, 7, "ok"}, 99) +
                                    cut({Type::result, 6, 0, "mnop"}, 2);
  for (std::size_t from = 0; from < stream.size(); ++from) {
    Assembler assembler(Direction::from_worker);
    assembler.adopt();
    const std::vector<Piece> rest(stream.begin() + static_cast<std::ptrdiff_t>(from), stream.end());

    const Outcome outcome = feed(assembler, rest);

    ASSERT_TRUE(outcome.status) << from << ": " << outcome.status.error().describe();
    std::vector<Piece> starts;
    std::copy_if(rest.begin(), rest.end(), std::back_inserter(starts),
                 [](const Piece& piece) { return !piece.frame.rest(); });
    ASSERT_EQ(outcome.messages.size(), starts.size()) << from;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      EXPECT_EQ(outcome.messages[i].sequence, starts[i].frame.sequence);
      EXPECT_EQ(outcome.messages[i].execution, starts[i].frame.execution);
    }
  }
}

TEST(AssemblerAdopt, ForgetsWhatItHadBegun) {
  Assembler assembler(Direction::from_worker);
  const std::vector<Piece> message = cut({Type::result, 5, 0, "abcdef"}, 2);
  ASSERT_TRUE(feed(assembler, {message[0]}).status);

  assembler.adopt();
  const Outcome outcome = feed(assembler, {message[1], message[2], cut(note(5, 3), 9)[0]});

  ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
  ASSERT_EQ(outcome.messages.size(), 1u);
  EXPECT_EQ(outcome.messages[0].type, Type::note);
}

TEST(AssemblerAdopt, TakesAStackBeforeInsideAndAfterTheTail) {
  Assembler assembler(Direction::from_worker);
  assembler.adopt();
  const std::vector<Piece> message = cut({Type::result, 5, 0, "abcdef"}, 2);
  const Piece stack = cut({Type::stack, 5, 0, "File x"}, 99)[0];

  const Outcome outcome =
      feed(assembler, {stack, message[1], stack, message[2], stack, cut(note(5, 3), 9)[0]});

  ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
  EXPECT_EQ(outcome.messages.size(), 4u);
}

TEST(AssemblerAdopt, StillRefusesAJumpAfterItsFirstFrame) {
  Assembler assembler(Direction::from_worker);
  assembler.adopt();

  expect_lie(feed(assembler, cut(note(5, 40), 9) + cut(note(5, 42), 9)), 1);
}

TEST(AssemblerAdopt, StillRefusesAJumpInsideTheTail) {
  Assembler assembler(Direction::from_worker);
  assembler.adopt();
  const std::vector<Piece> message = cut({Type::result, 5, 0, "abcdefgh"}, 2);

  expect_lie(feed(assembler, {message[1], message[3]}), 1);
}

TEST(AssemblerAdopt, RefusesAMessageThatStartsBeforeTheTailEnds) {
  Assembler assembler(Direction::from_worker);
  assembler.adopt();
  const std::vector<Piece> message = cut({Type::result, 5, 0, "abcdef"}, 2);

  expect_lie(feed(assembler, {message[1], cut(note(5, 2), 9)[0]}), 1);
}

TEST(AssemblerAdopt, GetsTheWholeExecutionAgainByReplay) {
  // The head of the result went to the reader before. The new one sees its tail and the end, then
  // what it asked for: everything once more.
  const std::vector<Piece> live = cut({Type::result, 5, 0, "abcd"}, 2) + cut(note(5, 2), 9);
  const std::vector<Piece> replay =
      cut({Type::result, 5, 0, "abcd"}, 2, kReplay) + cut(note(5, 2), 9, kReplay);
  Assembler assembler(Direction::from_worker);
  assembler.adopt();

  const Outcome outcome = feed(assembler, std::vector<Piece>{live[1], live[2]} +
                                              cut({Type::ready, 5, 0, ""}, 9, kReplay) + replay);

  ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
  ASSERT_EQ(outcome.messages.size(), 4u);
  EXPECT_EQ(outcome.messages[0].sequence, 2u);
  EXPECT_EQ(outcome.messages[1].type, Type::ready);
  EXPECT_EQ(outcome.messages[2].payload, "abcd");
  EXPECT_EQ(outcome.messages[3].sequence, 2u) << "the same as the first: seen already";
}

}  // namespace
}  // namespace vitrine::wire
