// SPDX-License-Identifier: Apache-2.0
#include "api/tar.h"

#include <gtest/gtest.h>

namespace vitrine::api {
namespace {

unsigned long octal(const std::string& header, std::size_t at) {
  return std::stoul(header.substr(at, 11), nullptr, 8);
}

TEST(Tar, WritesOneBlockForAPlainFile) {
  const std::string header = tar_header("dir/a.txt", 1234, 1'700'000'000'999, '0');

  ASSERT_EQ(header.size(), 512u);
  EXPECT_STREQ(header.c_str(), "dir/a.txt");
  EXPECT_EQ(octal(header, 124), 1234u);
  EXPECT_EQ(octal(header, 136), 1'700'000'000u);
  EXPECT_EQ(header[156], '0');
  EXPECT_EQ(header.substr(257, 8), std::string("ustar\00000", 8));
}

TEST(Tar, SumsTheHeaderWithItsSumAsSpaces) {
  std::string header = tar_header("x", 0, 0, '5');
  const unsigned long told = std::stoul(header.substr(148, 6), nullptr, 8);

  header.replace(148, 8, 8, ' ');
  unsigned long sum = 0;
  for (char c : header) sum += static_cast<unsigned char>(c);

  EXPECT_EQ(told, sum);
}

TEST(Tar, PutsALongNameInAPaxRecordThatCountsItself) {
  for (std::size_t length : {101u, 250u, 985u, 990u, 1000u}) {
    const std::string name(length, 'n');

    const std::string header = tar_header(name, 5, 0, '0');

    ASSERT_EQ(header.size() % 512, 0u);
    EXPECT_EQ(header[156], 'x');
    const std::size_t size = octal(header, 124);
    const std::string record = header.substr(512, size);
    EXPECT_EQ(record, std::to_string(size) + " path=" + name + "\n");
    EXPECT_EQ(header[header.size() - 512 + 156], '0');
  }
}

TEST(Tar, PutsAHugeSizeInAPaxRecord) {
  const std::string header = tar_header("big", 1ull << 40, 0, '0');

  EXPECT_NE(header.find("size=1099511627776\n"), std::string::npos);
}

TEST(Tar, PadsToWholeBlocksAndEndsWithTwo) {
  EXPECT_EQ(tar_padding(0), "");
  EXPECT_EQ(tar_padding(1).size(), 511u);
  EXPECT_EQ(tar_padding(512), "");
  EXPECT_EQ(tar_end(), std::string(1024, '\0'));
}

}  // namespace
}  // namespace vitrine::api
