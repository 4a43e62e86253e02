// SPDX-License-Identifier: Apache-2.0
#include "wire/message_frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vitrine::wire {
namespace {

std::vector<Frame> all(MessageFrames frames) {
  std::vector<Frame> list;
  while (frames.any()) list.push_back(frames.next());
  return list;
}

TEST(MessageFrames, AnEmptyMessageIsOneEmptyFrame) {
  const std::vector<Frame> frames = all({Type::resume, 7, {}});

  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].type, Type::resume);
  EXPECT_EQ(frames[0].execution, 7u);
  EXPECT_EQ(frames[0].sequence, 0u);
  EXPECT_EQ(frames[0].flags, 0);
  EXPECT_TRUE(frames[0].payload.empty());
}

TEST(MessageFrames, AFullFrameIsNotFollowedByAnEmptyOne) {
  const std::string payload(kMaxPayload, 'x');

  const std::vector<Frame> frames = all({Type::execute, 1, payload});

  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].flags, 0);
  EXPECT_EQ(frames[0].payload.size(), kMaxPayload);
}

TEST(MessageFrames, MarksTheFirstTheMiddleAndTheLastFrame) {
  const std::string payload(2 * kMaxPayload + 1, 'x');

  const std::vector<Frame> frames = all({Type::result, 1, payload, 5});

  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].flags, kMore);
  EXPECT_EQ(frames[1].flags, kMore | kRest);
  EXPECT_EQ(frames[2].flags, kRest);
  EXPECT_EQ(frames[0].sequence, 5u);
  EXPECT_EQ(frames[2].sequence, 7u);
  EXPECT_EQ(frames[2].payload, "x");
}

TEST(MessageFrames, TheAssemblerPutsTheMessageTogetherAgain) {
  std::string payload;
  for (std::size_t i = 0; i < 3 * kMaxPayload; ++i) payload.push_back(static_cast<char>(i % 251));
  Assembler assembler(Assembler::Direction::from_client);
  std::optional<Message> whole;

  for (MessageFrames frames(Type::execute, 9, payload); frames.any();) {
    ASSERT_FALSE(whole) << "whole before its last frame";
    Result<std::optional<Message>> added = assembler.add(frames.next());
    ASSERT_TRUE(added);
    whole = std::move(*added);
  }

  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->type, Type::execute);
  EXPECT_EQ(whole->execution, 9u);
  EXPECT_EQ(whole->payload, payload);
}

}  // namespace
}  // namespace vitrine::wire
