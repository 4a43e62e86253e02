// SPDX-License-Identifier: Apache-2.0
#include "model/limits.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

namespace vitrine {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMost64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kMost32 = std::numeric_limits<std::uint32_t>::max();

TEST(Limits, AreValidByDefault) { EXPECT_TRUE(Limits{}.validate()); }

TEST(Limits, AreEqualWhenAllFieldsAre) {
  Limits other;
  EXPECT_EQ(Limits{}, other);

  other.processes = 65;

  EXPECT_NE(Limits{}, other);
}

struct Case {
  const char* field;
  std::function<void(Limits&)> set;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.field; }

class LimitsOutOfRange : public testing::TestWithParam<Case> {};

TEST_P(LimitsOutOfRange, AreRefusedByName) {
  Limits limits;
  GetParam().set(limits);

  const Status status = limits.validate();

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::invalid_argument);
  EXPECT_EQ(status.error().message.find(GetParam().field), 0u) << status.error().message;
  EXPECT_NE(status.error().message.find("not between"), std::string::npos);
  EXPECT_FALSE(status.error().remedy.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Zero, LimitsOutOfRange,
    testing::Values(Case{"memory_bytes", [](Limits& l) { l.memory_bytes = 0; }},
                    Case{"cpu_permille", [](Limits& l) { l.cpu_permille = 0; }},
                    Case{"processes", [](Limits& l) { l.processes = 0; }},
                    Case{"disk_bytes", [](Limits& l) { l.disk_bytes = 0; }},
                    Case{"output_bytes", [](Limits& l) { l.output_bytes = 0; }},
                    Case{"exec_time_ms", [](Limits& l) { l.exec_time = milliseconds(0); }},
                    Case{"idle_time_ms", [](Limits& l) { l.idle_time = milliseconds(0); }}));

INSTANTIATE_TEST_SUITE_P(
    JustTooSmall, LimitsOutOfRange,
    testing::Values(Case{"memory_bytes", [](Limits& l) { l.memory_bytes = 16 * kMiB - 1; }},
                    Case{"cpu_permille", [](Limits& l) { l.cpu_permille = 9; }},
                    Case{"processes", [](Limits& l) { l.processes = 3; }},
                    Case{"disk_bytes", [](Limits& l) { l.disk_bytes = kMiB - 1; }},
                    Case{"output_bytes", [](Limits& l) { l.output_bytes = 1023; }},
                    Case{"idle_time_ms", [](Limits& l) { l.idle_time = milliseconds(999); }}));

INSTANTIATE_TEST_SUITE_P(
    Absurd, LimitsOutOfRange,
    testing::Values(Case{"memory_bytes", [](Limits& l) { l.memory_bytes = kMost64; }},
                    Case{"cpu_permille", [](Limits& l) { l.cpu_permille = kMost32; }},
                    Case{"processes", [](Limits& l) { l.processes = kMost32; }},
                    Case{"disk_bytes", [](Limits& l) { l.disk_bytes = kMost64; }},
                    Case{"output_bytes", [](Limits& l) { l.output_bytes = kMost64; }},
                    Case{"exec_time_ms", [](Limits& l) { l.exec_time = milliseconds::max(); }},
                    Case{"idle_time_ms", [](Limits& l) { l.idle_time = milliseconds::max(); }}));

INSTANTIATE_TEST_SUITE_P(
    Negative, LimitsOutOfRange,
    testing::Values(Case{"exec_time_ms", [](Limits& l) { l.exec_time = milliseconds(-1); }},
                    Case{"exec_time_ms", [](Limits& l) { l.exec_time = milliseconds::min(); }},
                    Case{"idle_time_ms", [](Limits& l) { l.idle_time = milliseconds(-1); }}));

TEST(Limits, AreValidAtTheirSmallest) {
  const Limits smallest{.memory_bytes = 16 * kMiB,
                        .cpu_permille = 10,
                        .processes = 4,
                        .disk_bytes = kMiB,
                        .output_bytes = 1024,
                        .exec_time = milliseconds(1),
                        .idle_time = milliseconds(1000)};

  EXPECT_TRUE(smallest.validate());
}

TEST(Limits, OfMemoryAndDiskTogetherDoNotOverflow) {
  Limits limits;
  limits.memory_bytes = 1024 * 1024 * kMiB;
  limits.disk_bytes = 1024 * 1024 * kMiB;

  ASSERT_TRUE(limits.validate());
  EXPECT_GT(limits.memory_bytes + limits.disk_bytes, limits.memory_bytes);
}

TEST(Limits, NameTheFirstFieldThatIsWrong) {
  Limits limits;
  limits.processes = 0;
  limits.output_bytes = 0;

  const Status status = limits.validate();

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "processes is 0, not between 4 and 32768");
}

}  // namespace
}  // namespace vitrine
