// SPDX-License-Identifier: Apache-2.0
#include "keeper/keeper.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace vitrine::keeper {
namespace {

namespace fs = std::filesystem;

class KeeperTest : public testing::Test {
 protected:
  KeeperTest() {
    std::string pattern = fs::temp_directory_path() / "vitrine-keeper-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    options.control = directory + "/control";
    options.image = directory + "/image";
    options.runtime = directory + "/runtime";
    options.init = directory + "/vitrine-init";
  }
  ~KeeperTest() override { fs::remove_all(directory); }

  Error refusal() {
    Keeper keeper(*Loop::make(), options);
    Status started = keeper.start();
    return started ? Error{} : started.error();
  }

  std::string directory;
  Options options;
};

TEST_F(KeeperTest, SaysWhatToDoAboutAMissingImage) {
  const Error error = refusal();

  EXPECT_EQ(error.code, Code::not_found) << error.describe();
  EXPECT_NE(error.remedy, "");
}

TEST_F(KeeperTest, DoesNotListenBeforeItHasEverything) {
  (void)refusal();

  EXPECT_FALSE(fs::exists(options.control));
}

TEST_F(KeeperTest, LeavesALayersDirectoryThatIsALinkAlone) {
  fs::create_directory(directory + "/data");
  fs::create_directory(directory + "/elsewhere");
  fs::create_symlink(directory + "/elsewhere", directory + "/data/layers");
  fs::permissions(directory + "/elsewhere", fs::perms::owner_all);
  options.data = directory + "/data";

  EXPECT_FALSE(prepare_layers(options, ::getuid()));

  struct stat info {};
  ASSERT_EQ(::stat((directory + "/elsewhere").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(KeeperTest, MakesTheLayersDirectoryReadableBelowAClosedOne) {
  options.data = directory + "/data";

  ASSERT_TRUE(prepare_layers(options, ::getuid()));

  EXPECT_EQ(fs::status(options.data).permissions(), fs::perms::owner_all);
  EXPECT_EQ(static_cast<unsigned>(fs::status(options.data + "/layers").permissions()), 0755u);
}

}  // namespace
}  // namespace vitrine::keeper
