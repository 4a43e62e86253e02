// SPDX-License-Identifier: Apache-2.0
#include "api/range.h"

#include <gtest/gtest.h>

namespace vitrine::api {
namespace {

void expect_range(const std::string& header, std::uint64_t first, std::uint64_t last) {
  const auto range = read_range(header, 10);
  ASSERT_TRUE(range) << header;
  EXPECT_FALSE(range->unsatisfiable) << header;
  EXPECT_EQ(range->first, first) << header;
  EXPECT_EQ(range->last, last) << header;
}

TEST(Range, ReadsBothEndsAnOpenEndAndTheLastBytes) {
  expect_range("bytes=0-0", 0, 0);
  expect_range("bytes=2-4", 2, 4);
  expect_range("bytes=7-", 7, 9);
  expect_range("bytes=-3", 7, 9);
}

TEST(Range, EndsWithTheFile) {
  expect_range("bytes=5-999", 5, 9);
  expect_range("bytes=-100", 0, 9);
}

TEST(Range, CannotBeSatisfiedBeyondTheEnd) {
  for (const char* header : {"bytes=10-", "bytes=10-20", "bytes=-0"}) {
    const auto range = read_range(header, 10);
    ASSERT_TRUE(range) << header;
    EXPECT_TRUE(range->unsatisfiable) << header;
  }
  EXPECT_TRUE(read_range("bytes=-5", 0)->unsatisfiable);
  EXPECT_TRUE(read_range("bytes=0-", 0)->unsatisfiable);
}

TEST(Range, IsLeftAsideIfItIsNotOneWeServe) {
  for (const char* header : {"", "bytes=", "bytes=-", "bytes=x-y", "bytes=4-2", "bytes=0-1,3-4",
                             "lines=1-2", "bytes=1", "bytes= 1-2", "bytes=18446744073709551616-",
                             "bytes=+1-2", "bytes=--2", "bytes=5-x", "bytes=x-5"})
    EXPECT_FALSE(read_range(header, 10)) << header;
}

}  // namespace
}  // namespace vitrine::api
