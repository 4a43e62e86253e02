// SPDX-License-Identifier: Apache-2.0
#include "session/meters.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace vitrine::session {
namespace {

Fd file_of(const std::string& text) {
  Fd file(::memfd_create("meter", MFD_CLOEXEC));
  EXPECT_EQ(::pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return file;
}

TEST(Meters, ReadsTheAccountsOfBothKindsOfCgroup) {
  const Meters second(file_of("nr_periods 0\nusage_usec 1234\nuser_usec 1000\n"),
                      file_of("8192\n"));
  const Meters first(file_of("1234567\n"), file_of("8192\n"));

  EXPECT_EQ(second.cpu_us(), 1234u);
  EXPECT_EQ(first.cpu_us(), 1234u);
  EXPECT_EQ(first.peak_kb(), 8u);
}

TEST(Meters, SaysNothingWithoutAFile) {
  const Meters none{Fd(), Fd()};

  EXPECT_FALSE(none.cpu_us());
  EXPECT_FALSE(none.peak_kb());
}

TEST(Meters, ReadsNothingAsZero) {
  const Meters empty(file_of(""), file_of(""));

  EXPECT_EQ(empty.cpu_us(), 0u);
  EXPECT_EQ(empty.peak_kb(), 0u);
}

}  // namespace
}  // namespace vitrine::session
