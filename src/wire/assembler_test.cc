// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "wire/assembler_testing.h"

namespace vitrine::wire {
namespace {

// -- whole messages

TEST(Assembler, GivesAMessageOfOneFrame) {
  const Outcome outcome = feed(cut(note(5, 0), 100));

  ASSERT_TRUE(outcome.status);
  ASSERT_EQ(outcome.messages.size(), 1u);
  EXPECT_EQ(outcome.messages[0].type, Type::note);
  EXPECT_EQ(outcome.messages[0].execution, 5u);
  EXPECT_EQ(outcome.messages[0].sequence, 0u);
  EXPECT_EQ(outcome.messages[0].payload, "a note");
}

TEST(Assembler, GivesAnEmptyMessage) {
  const Outcome outcome = feed(cut(note(5, 0, ""), 100));

  ASSERT_EQ(outcome.messages.size(), 1u);
  EXPECT_EQ(outcome.messages[0].payload, "");
}

TEST(Assembler, JoinsFramesInOrder) {
  const Outcome outcome = feed(cut({Type::result, 5, 0, "abcdefg"}, 2));

  ASSERT_TRUE(outcome.status);
  ASSERT_EQ(outcome.messages.size(), 1u);
  EXPECT_EQ(outcome.messages[0].payload, "abcdefg");
  EXPECT_EQ(outcome.messages[0].sequence, 0u) << "that of its first frame";
}

TEST(Assembler, GivesNothingBeforeTheLastFrame) {
  std::vector<Piece> pieces = cut({Type::result, 5, 0, "abcdefg"}, 2);
  pieces.pop_back();

  const Outcome outcome = feed(pieces);

  EXPECT_TRUE(outcome.status);
  EXPECT_TRUE(outcome.messages.empty());
}

TEST(Assembler, CountsTheFramesOfAnExecutionAcrossMessages) {
  const Outcome outcome =
      feed(cut({Type::result, 5, 0, "abcd"}, 2) + cut(note(5, 2), 9) + cut(note(5, 3), 9));

  ASSERT_TRUE(outcome.status);
  ASSERT_EQ(outcome.messages.size(), 3u);
  EXPECT_EQ(outcome.messages[1].sequence, 2u);
  EXPECT_EQ(outcome.messages[2].sequence, 3u);
}

TEST(Assembler, CountsEachExecutionFromZero) {
  const Outcome outcome = feed(cut(note(5, 0), 9) + cut(note(5, 1), 9) + cut(note(6, 0), 9));

  ASSERT_TRUE(outcome.status);
  EXPECT_EQ(outcome.messages.size(), 3u);
}

TEST(Assembler, JoinsAnyMessagesCutAnyhow) {
  std::mt19937_64 random(3);
  const std::array types{Type::result, Type::error, Type::note, Type::input_request,
                         Type::finished};

  for (int round = 0; round < 300; ++round) {
    std::vector<Piece> pieces;
    std::vector<Message> sent;
    for (std::uint64_t execution = 1; execution <= 3; ++execution) {
      std::uint32_t sequence = 0;
      for (std::uint64_t count = random() % 5; count > 0; --count) {
        std::string payload(random() % 2000, '\0');
        for (char& byte : payload) byte = static_cast<char>(random());
        sent.push_back({types[random() % types.size()], execution, sequence, payload});
        const std::vector<Piece> cuts = cut(sent.back(), 1 + random() % 300);
        sequence += static_cast<std::uint32_t>(cuts.size());
        pieces = pieces + cuts;
      }
    }

    const Outcome outcome = feed(pieces);

    ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
    ASSERT_EQ(outcome.messages.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(outcome.messages[i].type, sent[i].type);
      EXPECT_EQ(outcome.messages[i].execution, sent[i].execution);
      EXPECT_EQ(outcome.messages[i].sequence, sent[i].sequence);
      EXPECT_EQ(outcome.messages[i].payload, sent[i].payload);
    }
  }
}

// -- lies

TEST(Assembler, RefusesAFrameThatGoesTheWrongWay) {
  for (const Type type : {Type::setup, Type::execute, Type::input, Type::resume, Type::captured})
    expect_lie(feed(cut({type, 0, 0, ""}, 9), Direction::from_worker), 0);
  for (const Type type : {Type::ready, Type::result, Type::error, Type::note, Type::input_request,
                          Type::stack, Type::finished, Type::painted, Type::line})
    expect_lie(feed(cut({type, 0, 0, ""}, 9), Direction::from_client), 0);
}

TEST(Assembler, RefusesASequenceThatJumpsRepeatsOrGoesBack) {
  for (const std::uint32_t second : {0u, 2u, 7u, std::numeric_limits<std::uint32_t>::max()})
    expect_lie(feed(cut(note(5, 0), 9) + cut(note(5, second), 9)), 1);
}

TEST(Assembler, RefusesAnExecutionThatDoesNotStartAtZero) {
  expect_lie(feed(cut(note(5, 1), 9)), 0);
  expect_lie(feed(cut(note(5, 0), 9) + cut(note(6, 1), 9)), 1);
}

TEST(Assembler, RefusesAnyOneLostOrDoubledFrame) {
  const std::vector<Piece> pieces =
      cut({Type::result, 5, 0, "abcdef"}, 2) + cut(note(5, 3), 9) + cut(note(5, 4), 9);

  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::vector<Piece> doubled = pieces;
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), pieces[i]);
    EXPECT_FALSE(feed(doubled).status) << "frame " << i << " doubled";
    if (i + 1 == pieces.size()) break;  // the last one lost is not to be seen
    std::vector<Piece> lost = pieces;
    lost.erase(lost.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(feed(lost).status) << "frame " << i << " lost";
  }
}

TEST(Assembler, RefusesAMessageThatGoesOnWithoutAStart) {
  std::vector<Piece> pieces = cut(note(5, 0), 9);
  pieces[0].frame.flags = kRest;

  expect_lie(feed(pieces), 0);
}

TEST(Assembler, RefusesAMessageThatStartsInsideAnother) {
  std::vector<Piece> pieces = cut({Type::result, 5, 0, "abcd"}, 2);
  pieces[1].frame.flags = 0;

  expect_lie(feed(pieces), 1);
}

TEST(Assembler, RefusesFramesOfTwoTypesInOneMessage) {
  std::vector<Piece> pieces = cut({Type::result, 5, 0, "abcd"}, 2);
  pieces[1].frame.type = Type::note;

  expect_lie(feed(pieces), 1);
}

TEST(Assembler, RefusesFramesOfTwoExecutionsInOneMessage) {
  std::vector<Piece> pieces = cut({Type::result, 5, 0, "abcd"}, 2);
  pieces[1].frame.execution = 6;
  pieces[1].frame.sequence = 0;

  expect_lie(feed(pieces), 1);
}

// -- sizes

TEST(Assembler, TakesAMessageOfExactlyTheMostBytesAndNotOneMore) {
  for (const Type type : {Type::result, Type::error, Type::note, Type::finished, Type::painted}) {
    const std::size_t most = max_message(type);

    EXPECT_TRUE(feed(cut({type, 1, 0, std::string(most, 'x')}, kMaxPayload)).status);
    const Outcome over = feed(cut({type, 1, 0, std::string(most + 1, 'x')}, kMaxPayload));

    ASSERT_FALSE(over.status) << to_string(type);
    EXPECT_EQ(over.status.error().code, Code::over_limit);
    EXPECT_TRUE(over.messages.empty());
  }
}

TEST(Assembler, CapsWhatAClientSendsToo) {
  for (const Type type : {Type::setup, Type::execute, Type::input, Type::resume, Type::captured}) {
    const std::size_t most = max_message(type);

    EXPECT_TRUE(feed(cut({type, 1, 0, std::string(most, 'x')}, kMaxPayload), Direction::from_client)
                    .status);
    const Outcome over =
        feed(cut({type, 1, 0, std::string(most + 1, 'x')}, kMaxPayload), Direction::from_client);

    ASSERT_FALSE(over.status) << to_string(type);
    EXPECT_EQ(over.status.error().code, Code::over_limit);
  }
}

TEST(Assembler, TakesALineAnywhereButNotALongOne) {
  std::vector<Piece> pieces = cut({Type::note, 5, 0, "abcd"}, 2);
  pieces.insert(pieces.begin() + 1, cut({Type::line, 5, 77, "1234"}, 99)[0]);

  const Outcome outcome = feed(pieces);

  ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
  ASSERT_EQ(outcome.messages.size(), 2u);
  EXPECT_EQ(outcome.messages[0].type, Type::line);
  EXPECT_EQ(outcome.messages[1].payload, "abcd");
  EXPECT_FALSE(feed(cut({Type::line, 5, 0, "12345"}, 99)).status);
}

// -- ready and stack

TEST(Assembler, StartsCountingAnewAtReady) {
  const Outcome outcome = feed(cut(kReady, 9) + cut(note(5, 0), 9) + cut(note(5, 1), 9) +
                               cut(kReady, 9) + cut(note(5, 0), 9) + cut(note(5, 1), 9));

  ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
  ASSERT_EQ(outcome.messages.size(), 6u);
  EXPECT_EQ(outcome.messages[1].sequence, outcome.messages[4].sequence) << "the same message again";
}

TEST(Assembler, GoesOnCountingAfterTheReplayOfAnUnfinishedExecution) {
  const Outcome outcome = feed(cut(note(5, 0), 9) + cut({Type::ready, 5, 0, ""}, 9) +
                               cut(note(5, 0), 9, kReplay) + cut(note(5, 1), 9));

  ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
  EXPECT_EQ(outcome.messages.size(), 4u);
}

TEST(Assembler, RefusesReadyInsideAMessage) {
  std::vector<Piece> pieces = cut({Type::result, 5, 0, "abcd"}, 2);
  pieces.pop_back();

  expect_lie(feed(pieces + cut(kReady, 9)), 1);
}

TEST(Assembler, TakesAStackBetweenTheFramesOfAMessage) {
  std::vector<Piece> pieces = cut({Type::result, 5, 0, "abcd"}, 2);
  const std::vector<Piece> stack = cut({Type::stack, 5, 77, "File x"}, 99);
  pieces.insert(pieces.begin() + 1, stack[0]);

  const Outcome outcome = feed(pieces);

  ASSERT_TRUE(outcome.status) << outcome.status.error().describe();
  ASSERT_EQ(outcome.messages.size(), 2u);
  EXPECT_EQ(outcome.messages[0].type, Type::stack);
  EXPECT_EQ(outcome.messages[0].payload, "File x");
  EXPECT_EQ(outcome.messages[1].payload, "abcd");
}

TEST(Assembler, RefusesAReadyAStackOrALineInPieces) {
  for (const Type type : {Type::ready, Type::stack, Type::line})
    for (const std::uint8_t flags : {kMore, kRest, static_cast<std::uint8_t>(kMore | kRest)}) {
      std::vector<Piece> pieces = cut({type, 0, 0, "x"}, 9);
      pieces[0].frame.flags = flags;
      expect_lie(feed(pieces), 0);
    }
}

// -- anything at all

TEST(Assembler, SurvivesRandomFrames) {
  std::mt19937_64 random(99);

  for (int round = 0; round < 2000; ++round) {
    Assembler assembler(round % 2 == 0 ? Direction::from_worker : Direction::from_client);
    std::size_t held = 0;
    for (int i = 0; i < 60; ++i) {
      if (random() % 10 == 0) assembler.adopt(), held = 0;
      const std::string payload(random() % 50, 'x');
      Frame frame{
          .type = static_cast<Type>(random() % 2 == 0 ? 1 + random() % 4 : 64 + random() % 7),
          .flags = static_cast<std::uint8_t>(random() % 8),
          .execution = random() % 2,
          .sequence = static_cast<std::uint32_t>(random() % 4),
          .payload = payload};
      held += payload.size();

      Result<std::optional<Message>> added = assembler.add(frame);

      if (!added || !*added) continue;
      EXPECT_LE((*added)->payload.size(), held) << "bytes from nowhere";
    }
  }
}

}  // namespace
}  // namespace vitrine::wire
