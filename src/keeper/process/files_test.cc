// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "keeper/hidden_name.h"

namespace vitrine::keeper {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLong{60'000};

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/dev/shm/vitrine-files-XXXXXX";  // as a home is: in memory
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    directory_ = Fd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    home_.directory = directory_.get();
  }
  void TearDown() override { fs::remove_all(path_); }

  Fd begin(const std::string& name, const std::string& content) {
    Result<Fd> file = new_file(home_, name);
    EXPECT_TRUE(file);
    EXPECT_EQ(::write(file->get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    return std::move(*file);
  }
  std::vector<std::string> names(const std::string& path = "") {
    std::vector<std::string> found;
    Result<wire::FilesListed> listed = list_files(home_, path, "");
    EXPECT_TRUE(listed);
    for (const auto& entry : listed->entries) found.push_back(entry.name);
    return found;
  }
  std::string content(const std::string& name) {
    std::ifstream file(path_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Code refusal(const Result<OpenedFile>& opened) {
    EXPECT_FALSE(opened);
    EXPECT_NE(opened.error().remedy, "") << opened.error().message;
    return opened.error().code;
  }

  std::string path_;
  Fd directory_;
  Home home_;
};

TEST_F(FilesTest, AFileOnItsWayHasNoName) {
  const Fd file = begin("d/new", "half");

  EXPECT_EQ(names("d"), std::vector<std::string>{});
  EXPECT_EQ(fs::is_empty(path_ + "/d"), true);
}

TEST_F(FilesTest, AFileGetsItsNameWhenItIsWhole) {
  const Fd file = begin("d/new", "whole");

  ASSERT_TRUE(commit_file(home_, "d/new", file.get(), hidden_name()));

  EXPECT_EQ(content("d/new"), "whole");
}

TEST_F(FilesTest, AFileReplacesAFileOrALinkAndLeavesNothingElse) {
  std::ofstream(path_ + "/old") << "old";
  fs::create_symlink("old", path_ + "/link");

  const Fd first = begin("old", "new");
  ASSERT_TRUE(commit_file(home_, "old", first.get(), hidden_name()));
  const Fd second = begin("link", "no link");
  ASSERT_TRUE(commit_file(home_, "link", second.get(), hidden_name()));

  EXPECT_EQ(names(), (std::vector<std::string>{"link", "old"}));
  EXPECT_EQ(content("old"), "new");
  EXPECT_EQ(content("link"), "no link");
  EXPECT_FALSE(fs::is_symlink(path_ + "/link"));
}

TEST_F(FilesTest, AFileDoesNotReplaceADirectory) {
  const Fd file = begin("x", "file");
  fs::create_directory(path_ + "/x");

  Status done = commit_file(home_, "x", file.get(), hidden_name());

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::conflict);
  EXPECT_EQ(names(), std::vector<std::string>{"x"});
  EXPECT_FALSE(new_file(home_, "x"));
}

TEST_F(FilesTest, PipesAndSocketsAreNoFiles) {
  ASSERT_EQ(::mkfifo((path_ + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mknod((path_ + "/socket").c_str(), S_IFSOCK | 0600, 0), 0);

  EXPECT_EQ(refusal(open_file(home_, "pipe")), Code::conflict);
  EXPECT_EQ(refusal(open_file(home_, "socket")), Code::conflict);
  EXPECT_EQ(refusal(open_file(home_, "x/../pipe")), Code::invalid_argument);
}

TEST_F(FilesTest, LinksThatLeadOutsideAreRefusedWithARemedy) {
  fs::create_symlink("/etc/passwd", path_ + "/absolute");
  fs::create_symlink("../../etc/passwd", path_ + "/climbing");
  fs::create_symlink("loop", path_ + "/loop");

  for (const char* name : {"absolute", "climbing", "loop"})
    EXPECT_EQ(refusal(open_file(home_, name)), Code::invalid_argument) << name;
}

TEST_F(FilesTest, WhatItsOwnerClosedIsAConflict) {
  if (::geteuid() == 0) home_.user = 12345;  // root passes everything
  std::ofstream(path_ + "/closed") << "x";
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod((path_ + "/closed").c_str(), 0), 0);

  EXPECT_EQ(refusal(open_file(home_, "closed")), Code::conflict);
}

TEST_F(FilesTest, OpensAndRemoves) {
  const Fd file = begin("d/e/f", "12345");
  ASSERT_TRUE(commit_file(home_, "d/e/f", file.get(), hidden_name()));

  Result<OpenedFile> opened = open_file(home_, "d/e/f");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->about.size, 5u);
  EXPECT_EQ(*remove_file(home_, "d", kLong), Removed::whole);

  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST(CheckPath, RefusesWhatIsNoPlainRelativePath) {
  for (const std::string& path :
       {std::string(), std::string("/a"), std::string("a//b"), std::string("a/"), std::string("."),
        std::string("a/../b"), std::string("a\0b", 3), std::string(300, 'a'),
        std::string(5000, '/')})
    EXPECT_FALSE(check_path(path)) << path;
  for (const char* path : {"a", "a/b", "...", "..a", "a b", ".hidden"})
    EXPECT_TRUE(check_path(path)) << path;
}

}  // namespace
}  // namespace vitrine::keeper
