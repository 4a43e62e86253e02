// SPDX-License-Identifier: Apache-2.0
#include "wire/frame.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <random>
#include <set>

namespace vitrine::wire {
namespace {

std::string valid_frame() {
  return encode_frame({Type::note, kReplay, 0x1122334455667788, 0x99AABBCC, "hello"});
}

// Where the fields of the header lie; the layout is a promise (docs/session-socket.md).
enum Offset : std::size_t {
  kMagicAt = 0,
  kVersionAt = 2,
  kTypeAt = 3,
  kFlagsAt = 4,
  kZeroAt = 5,
  kExecutionAt = 8,
  kSequenceAt = 16,
  kLengthAt = 20
};

TEST(Frame, HasTheDocumentedLayout) {
  const std::string expected(
      "VT\x01\x43\x04\0\0\0"
      "\x88\x77\x66\x55\x44\x33\x22\x11"
      "\xCC\xBB\xAA\x99"
      "\x05\0\0\0"
      "hello",
      29);

  EXPECT_EQ(valid_frame(), expected);
}

TEST(Frame, ComesBackAsItWasEncoded) {
  const std::string datagram = valid_frame();

  Result<Frame> frame = decode_frame(datagram);

  ASSERT_TRUE(frame) << frame.error().describe();
  EXPECT_EQ(frame->type, Type::note);
  EXPECT_EQ(frame->flags, kReplay);
  EXPECT_EQ(frame->execution, 0x1122334455667788u);
  EXPECT_EQ(frame->sequence, 0x99AABBCCu);
  EXPECT_EQ(frame->payload, "hello");
  EXPECT_EQ(frame->payload.data(), datagram.data() + kHeaderSize) << "a view, not a copy";
}

TEST(Frame, TellsItsFlagsApart) {
  EXPECT_TRUE((Frame{.flags = kMore}).more());
  EXPECT_FALSE((Frame{.flags = kMore}).rest());
  EXPECT_TRUE((Frame{.flags = kRest}).rest());
  EXPECT_FALSE((Frame{.flags = kRest}).replay());
  EXPECT_TRUE((Frame{.flags = kReplay}).replay());
  EXPECT_FALSE((Frame{.flags = kReplay}).more());
}

TEST(Frame, MayBeEmpty) {
  const std::string datagram = encode_frame({.type = Type::resume});

  Result<Frame> frame = decode_frame(datagram);

  ASSERT_TRUE(frame);
  EXPECT_TRUE(frame->payload.empty());
}

TEST(Frame, MayBeExactly64KiB) {
  const std::string payload(kMaxPayload, 'x');
  const std::string datagram = encode_frame({.type = Type::result, .payload = payload});

  Result<Frame> frame = decode_frame(datagram);

  EXPECT_EQ(datagram.size(), kMaxFrame);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload, payload);
}

TEST(Frame, IsRefusedOneByteLonger) {
  const std::string payload(kMaxPayload + 1, 'x');

  Result<Frame> frame = decode_frame(encode_frame({.type = Type::result, .payload = payload}));

  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code, Code::invalid_argument);
}

TEST(Frame, IsRefusedAtEveryTruncation) {
  const std::string datagram = valid_frame();

  for (std::size_t size = 0; size < datagram.size(); ++size) {
    Result<Frame> frame = decode_frame(std::string_view(datagram).substr(0, size));
    ASSERT_FALSE(frame) << "cut after " << size;
    EXPECT_EQ(frame.error().code, Code::invalid_argument);
  }
}

TEST(Frame, IsRefusedWithAByteTooMany) { EXPECT_FALSE(decode_frame(valid_frame() + "!")); }

TEST(Together, GivesTheFramesOfADatagramInOrder) {
  const std::string datagram =
      encode_frame({.type = Type::result, .sequence = 0, .payload = "a"}) +
      encode_frame({.type = Type::note, .sequence = 1, .payload = ""}) +
      encode_frame({.type = Type::finished, .sequence = 2, .payload = "cc"});

  Together frames(datagram);
  std::string seen;
  std::uint32_t sequence = 0;
  while (frames.any()) {
    Result<Frame> frame = frames.next();
    ASSERT_TRUE(frame) << frame.error().describe();
    EXPECT_EQ(frame->sequence, sequence++);
    seen += frame->payload;
  }

  EXPECT_EQ(sequence, 3u);
  EXPECT_EQ(seen, "acc");
}

TEST(Together, RefusesWhatFollowsTheLastFrame) {
  const std::string whole = valid_frame();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string datagram = whole + whole.substr(0, size);
    Together frames(datagram);
    EXPECT_TRUE(frames.next());
    ASSERT_TRUE(frames.any());
    EXPECT_FALSE(frames.next()) << size;
  }
}

TEST(Together, RefusesOneFrameTooMany) {
  std::string datagram;
  for (int i = 0; i <= kMaxTogether; ++i) datagram += valid_frame();

  Together frames(datagram);
  for (int i = 0; i < kMaxTogether; ++i) EXPECT_TRUE(frames.next()) << i;
  EXPECT_FALSE(frames.next());
}

TEST(Frame, IsRefusedWithAWrongMagic) {
  for (const std::size_t at : {kMagicAt, static_cast<Offset>(kMagicAt + 1)}) {
    std::string datagram = valid_frame();
    datagram[at] = 'X';
    EXPECT_FALSE(decode_frame(datagram));
  }
}

TEST(Frame, IsRefusedWithAnyOtherVersion) {
  for (int version = 0; version < 256; ++version) {
    std::string datagram = valid_frame();
    datagram[kVersionAt] = static_cast<char>(version);
    EXPECT_EQ(static_cast<bool>(decode_frame(datagram)), version == kVersion) << version;
  }
}

TEST(Frame, IsAcceptedWithExactlyTheKnownTypes) {
  const std::set<int> known{1, 2, 3, 4, 5, 6, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74};

  for (int type = 0; type < 256; ++type) {
    std::string datagram = valid_frame();
    datagram[kTypeAt] = static_cast<char>(type);
    EXPECT_EQ(static_cast<bool>(decode_frame(datagram)), known.contains(type)) << type;
  }
}

TEST(Frame, IsAcceptedWithExactlyTheKnownFlags) {
  for (int flags = 0; flags < 256; ++flags) {
    std::string datagram = valid_frame();
    datagram[kFlagsAt] = static_cast<char>(flags);
    EXPECT_EQ(static_cast<bool>(decode_frame(datagram)), flags < 8) << flags;
  }
}

TEST(Frame, IsRefusedWithAReservedByteSet) {
  for (std::size_t i = 0; i < 3; ++i) {
    std::string datagram = valid_frame();
    datagram[kZeroAt + i] = 1;
    EXPECT_FALSE(decode_frame(datagram));
  }
}

TEST(Frame, IsRefusedWhenItLiesAboutItsLength) {
  for (const int byte : {0, 1, 2, 3})
    for (const int bit : {0, 3, 7}) {
      std::string datagram = valid_frame();
      datagram[kLengthAt + static_cast<std::size_t>(byte)] ^= static_cast<char>(1 << bit);
      EXPECT_FALSE(decode_frame(datagram)) << byte << ' ' << bit;
    }
}

TEST(Frame, TakesAnyExecutionAndSequence) {
  for (const std::uint64_t execution :
       {std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()})
    for (const std::uint32_t sequence : {0u, std::numeric_limits<std::uint32_t>::max()}) {
      const std::string datagram =
          encode_frame({.type = Type::note, .execution = execution, .sequence = sequence});
      Result<Frame> frame = decode_frame(datagram);
      ASSERT_TRUE(frame);
      EXPECT_EQ(frame->execution, execution);
      EXPECT_EQ(frame->sequence, sequence);
    }
}

TEST(Frame, OfAnyContentComesBackTheSame) {
  std::mt19937_64 random(11);
  const std::array types{Type::setup,   Type::execute,  Type::input,         Type::resume,
                         Type::ready,   Type::result,   Type::error,         Type::note,
                         Type::stack,   Type::finished, Type::input_request, Type::captured,
                         Type::painted, Type::line};

  for (int i = 0; i < 2000; ++i) {
    std::string payload(random() % 3000, '\0');
    for (char& byte : payload) byte = static_cast<char>(random());
    const Frame frame{.type = types[random() % types.size()],
                      .flags = static_cast<std::uint8_t>(random() % 8),
                      .execution = random(),
                      .sequence = static_cast<std::uint32_t>(random()),
                      .payload = payload};
    const std::string datagram = encode_frame(frame);

    Result<Frame> back = decode_frame(datagram);

    ASSERT_TRUE(back) << back.error().describe();
    EXPECT_EQ(back->payload, payload);
    EXPECT_EQ(encode_frame(*back), datagram);
  }
}

TEST(Frame, OfRandomBytesIsRefusedOrReencodesTheSame) {
  std::mt19937_64 random(12);

  for (int i = 0; i < 50'000; ++i) {
    std::string datagram = valid_frame();
    datagram.resize(random() % 40);
    for (std::uint64_t changes = random() % 4; changes > 0 && !datagram.empty(); --changes)
      datagram[random() % datagram.size()] = static_cast<char>(random());
    Result<Frame> frame = decode_frame(datagram);
    if (frame) {
      EXPECT_EQ(encode_frame(*frame), datagram);
    }
  }
}

TEST(Type, GoesOneWayOnly) {
  for (int number = 0; number < 256; ++number) {
    const Type type{static_cast<std::uint8_t>(number)};
    EXPECT_EQ(is_from_client(type), number >= 1 && number <= 6) << number;
    EXPECT_EQ(is_from_worker(type), number >= 64 && number <= 74) << number;
  }
}

TEST(Type, HasANameOfItsOwn) {
  std::set<std::string_view> names;

  for (int number = 0; number < 256; ++number)
    names.insert(to_string(Type{static_cast<std::uint8_t>(number)}));

  EXPECT_EQ(names.size(), 18u) << "seventeen, and `unknown` for the others";
}

TEST(MaxMessage, IsNeverUnbounded) {
  for (int number = 0; number < 256; ++number) {
    const std::size_t most = max_message(Type{static_cast<std::uint8_t>(number)});
    EXPECT_LE(most, 32u << 20) << number;
  }
}

TEST(MaxMessage, IsNothingForThoseThatSayNothing) {
  EXPECT_EQ(max_message(Type::painted), 0u);
  EXPECT_EQ(max_message(Type::line), 4u);
  EXPECT_EQ(max_message(Type::captured), 0u);
  EXPECT_EQ(max_message(Type::note), kMaxNote);
}

}  // namespace
}  // namespace vitrine::wire
