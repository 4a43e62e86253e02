// SPDX-License-Identifier: Apache-2.0
// The fuzzers' seeds (tests/fuzz/make_seeds.py writes them by hand) are accepted by the decoders that
// they are for: a fuzzer that starts from refused seeds learns little. A change of the wire that forgets
// them fails here.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "wire/control.h"
#include "wire/egress.h"
#include "wire/encoder.h"
#include "wire/frame.h"
#include "wire/messages.h"
#include "wire/screen.h"

namespace vitrine::wire {
namespace {

// Seeds of streams that a peer must not send, by intention.
const std::set<std::string> kRefused{"frame/out_of_order", "frame/two_mixed"};

template <class M>
bool is_message(std::string_view payload) {
  return static_cast<bool>(M::decode(payload));
}

bool is_accepted_message(Type type, std::string_view payload) {
  switch (type) {
    case Type::setup: return is_message<Setup>(payload);
    case Type::execute: return is_message<Execute>(payload);
    case Type::input: return is_message<Input>(payload);
    case Type::resume: return is_message<Resume>(payload);
    case Type::package_reply: return is_message<PackageReply>(payload);
    case Type::ready: return is_message<Ready>(payload);
    case Type::result: return is_message<ResultBundle>(payload);
    case Type::error: return is_message<ErrorReport>(payload);
    case Type::input_request: return is_message<InputRequest>(payload);
    case Type::package_request: return is_message<PackageRequest>(payload);
    case Type::finished: return is_message<Finished>(payload);
    case Type::line: return is_message<Line>(payload);
    default: return is_utf8(payload);
  }
}

bool is_accepted_datagram(Assembler& assembler, std::string_view datagram) {
  Together frames(datagram);
  while (frames.any()) {
    const Result<Frame> frame = frames.next();
    if (!frame || !assembler.add(*frame)) return false;
  }
  return true;
}

// Datagrams behind one byte, the direction: u16 length, the bytes; 0xFFFF = a new reader.
bool is_accepted_stream(std::uint8_t direction, std::string_view rest) {
  Assembler assembler(direction == 0 ? Assembler::Direction::from_worker
                                     : Assembler::Direction::from_client);
  while (rest.size() >= 2) {
    const auto low = static_cast<std::uint8_t>(rest[0]), high = static_cast<std::uint8_t>(rest[1]);
    const std::size_t length = low | static_cast<std::size_t>(high) << 8;
    rest.remove_prefix(2);
    if (length == 0xFFFF) {
      assembler.adopt();
      continue;
    }
    if (length > rest.size() || !is_accepted_datagram(assembler, rest.substr(0, length)))
      return false;
    rest.remove_prefix(length);
  }
  return rest.empty();
}

bool is_accepted(const std::string& fuzzer, std::uint8_t first, std::string_view rest) {
  if (fuzzer == "control")
    return first == 0 ? static_cast<bool>(decode_request(rest))
                      : static_cast<bool>(decode_from_keeper(rest));
  if (fuzzer == "message") return is_accepted_message(Type{first}, rest);
  if (fuzzer == "frame") return is_accepted_stream(first, rest);
  if (fuzzer == "screen")
    return first == 0 ? static_cast<bool>(screen::decode_reply(rest))
                      : static_cast<bool>(screen::decode_request(rest));
  if (fuzzer == "encoder")
    return first == 0 ? static_cast<bool>(encoder::decode_reply(rest))
                      : static_cast<bool>(encoder::decode_request(rest));
  if (first == 2) return static_cast<bool>(decode_egress(rest));
  if (first == 3) return static_cast<bool>(decode_egress_setup(rest));
  return true;  // egress: what its own layer reads
}

class Seeds : public testing::TestWithParam<const char*> {};

TEST_P(Seeds, AreAcceptedByTheirDecoder) {
  const std::filesystem::path folder =
      std::filesystem::path(VITRINE_SOURCE_DIR) / "tests/fuzz/corpus" / GetParam();
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = std::string(GetParam()) + "/" + file.path().filename().string();
    std::ostringstream text;
    text << std::ifstream(file.path(), std::ios::binary).rdbuf();
    const std::string seed = text.str();
    ASSERT_FALSE(seed.empty()) << name;

    const bool accepted = is_accepted(GetParam(), static_cast<std::uint8_t>(seed[0]),
                                      std::string_view(seed).substr(1));

    EXPECT_EQ(accepted, !kRefused.contains(name)) << name;
    ++count;
  }
  EXPECT_GT(count, 0) << "no seeds in " << folder;
}

INSTANTIATE_TEST_SUITE_P(Of, Seeds,
                         testing::Values("control", "message", "frame", "screen", "encoder",
                                         "egress"),
                         [](const auto& about) { return std::string(about.param); });

}  // namespace
}  // namespace vitrine::wire
