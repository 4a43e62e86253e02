// SPDX-License-Identifier: Apache-2.0
#include "session/lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace vitrine::session {
namespace {

std::vector<Fd> row_of(std::size_t size) {
  std::vector<Fd> row;
  for (std::size_t i = 0; i < size; ++i)
    row.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return row;
}

TEST(Lines, AreTooFewWithoutAllThatASessionNeeds) {
  EXPECT_FALSE(is_complete(row_of(2), Outside::sealed));
  EXPECT_TRUE(is_complete(row_of(3), Outside::sealed));
  EXPECT_FALSE(is_complete(row_of(4), Outside::network));
  EXPECT_TRUE(is_complete(row_of(5), Outside::network));
}

TEST(Lines, EndWithTheProxysTwo) {
  std::vector<Fd> row = row_of(7);
  std::vector<int> numbers;
  for (const Fd& fd : row) numbers.push_back(fd.get());

  const Lines lines = take_lines(std::move(row), Outside::network);

  EXPECT_EQ(lines.socket.get(), numbers[0]);
  EXPECT_EQ(lines.out.get(), numbers[1]);
  EXPECT_EQ(lines.err.get(), numbers[2]);
  EXPECT_EQ(lines.cpu.get(), numbers[3]);
  EXPECT_EQ(lines.peak.get(), numbers[4]);
  EXPECT_EQ(lines.network.get(), numbers[5]);
  EXPECT_EQ(lines.counters.get(), numbers[6]);
}

TEST(Lines, HaveNoAccountsWhereTheKeeperSentNone) {
  const Lines sealed = take_lines(row_of(3), Outside::sealed);
  const Lines open = take_lines(row_of(5), Outside::network);

  EXPECT_FALSE(sealed.cpu);
  EXPECT_FALSE(sealed.network);
  EXPECT_FALSE(open.cpu);
  EXPECT_TRUE(open.network);
  EXPECT_TRUE(open.counters);
}

}  // namespace
}  // namespace vitrine::session
