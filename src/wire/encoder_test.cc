// SPDX-License-Identifier: Apache-2.0
#include "wire/encoder.h"

#include <gtest/gtest.h>

#include <string>

namespace vitrine::wire::encoder {
namespace {

const Start kStart{.width = 1024,
                   .height = 768,
                   .offset = 3232,
                   .stride = 4096,
                   .fps = 30,
                   .format = Format::webm,
                   .max_seconds = 60,
                   .max_bytes = 1 << 20};

template <class Change>
bool accepted(Change change) {
  Start start = kStart;
  change(start);
  return static_cast<bool>(decode_request(encode_request(start)));
}

bool believed(const Reply& reply) { return static_cast<bool>(decode_reply(encode_reply(reply))); }

TEST(EncoderRequest, ComesBackAsItWasSent) {
  Result<Request> back = decode_request(encode_request(kStart));

  ASSERT_TRUE(back);
  EXPECT_EQ(encode_request(*back), encode_request(kStart));
  EXPECT_EQ(std::get<Start>(*back).format, Format::webm);
  EXPECT_EQ(std::get<Start>(*back).offset, 3232u);
  EXPECT_TRUE(decode_request(encode_request(Stop{})));
}

TEST(EncoderRequest, IsWithinItsLimits) {
  EXPECT_TRUE(accepted([](Start&) {}));
  EXPECT_FALSE(accepted([](Start& s) { s.fps = 0; }));
  EXPECT_FALSE(accepted([](Start& s) { s.fps = 1000; }));
  EXPECT_FALSE(accepted([](Start& s) { s.width = 0; }));
  EXPECT_FALSE(accepted([](Start& s) { s.height = kMaxSide + 1; }));
  EXPECT_FALSE(accepted([](Start& s) { s.stride = 4092; })) << "rows overlap";
  EXPECT_FALSE(accepted([](Start& s) { s.stride = 0xFFFFFFFC; }));
  EXPECT_FALSE(accepted([](Start& s) { s.offset = ~0ull; }));
  EXPECT_FALSE(accepted([](Start& s) { s.max_seconds = 0; }));
  EXPECT_FALSE(accepted([](Start& s) { s.max_bytes = 0; }));
  EXPECT_FALSE(accepted([](Start& s) { s.format = Format{4}; }));
}

TEST(EncoderReply, EveryOneComesBackAsItWasSent) {
  const Progress progress{90, 123'456, 3000};
  const Reply all[] = {Started{1024, 768, 30, "h264"}, progress,
                       Stopped{progress, Reason::disk_full, "voll: größer"}};
  for (const Reply& reply : all) {
    Result<Reply> back = decode_reply(encode_reply(reply));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->index(), reply.index());
    EXPECT_EQ(encode_reply(*back), encode_reply(reply));
  }
}

TEST(EncoderReply, LiesAreRefused) {
  EXPECT_FALSE(believed(Started{0, 768, 30, "h264"}));
  EXPECT_FALSE(believed(Started{1024, 768, 1000, "h264"}));
  EXPECT_FALSE(believed(Started{1024, 768, 30, std::string(17, 'x')}));
  EXPECT_FALSE(believed(Progress{1, ~0ull, 1}));
  EXPECT_FALSE(believed(Stopped{{}, Reason{6}, ""}));
  EXPECT_FALSE(believed(Stopped{{}, Reason::error, "\xFF"}));
  EXPECT_FALSE(believed(Stopped{{}, Reason::error, std::string(kMaxDetail + 1, 'x')}));
}

TEST(EncoderReply, NoCutIsAccepted) {
  const std::string whole = encode_reply(Stopped{{1, 2, 3}, Reason::time, "x"});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_reply(whole.substr(0, size))) << size;
  EXPECT_FALSE(decode_reply(whole + "x"));
}

TEST(EncoderNames, AreThoseOfTheApi) {
  EXPECT_EQ(to_string(Format::apng), "apng");
  EXPECT_EQ(to_string(Reason::source_gone), "source_gone");
  EXPECT_EQ(to_string(Reason::error), "error");
}

}  // namespace
}  // namespace vitrine::wire::encoder
