// SPDX-License-Identifier: Apache-2.0
#include "packages/layers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace vitrine::packages {
namespace {

namespace fs = std::filesystem;

class LayersTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "layers-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  Layers open() {
    Result<Layers> layers = Layers::open(directory_);
    EXPECT_TRUE(layers);
    return std::move(*layers);
  }
  static std::string id(char c) { return std::string(64, c); }
  void add(Layers& layers, char c, std::uint64_t bytes) {
    Result<Layers::Draft> draft = layers.begin();
    ASSERT_TRUE(draft);
    std::ofstream(directory_ + "/" + draft->name + "/module.py") << "x = 1\n";
    Layer layer;
    layer.id = id(c);
    layer.pins = {std::string(1, c) + "==1"};
    layer.bytes = bytes;
    ASSERT_TRUE(layers.commit(std::move(*draft), std::move(layer)));
  }
  // As if it had been used so long ago.
  void age(char c, int seconds) {
    const timespec then{::time(nullptr) - seconds, 0};
    const timespec times[] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, (directory_ + "/" + id(c) + ".json").c_str(), times, 0), 0);
  }

  std::string directory_;
};

TEST_F(LayersTest, AreThereForTheNextOne) {
  {
    Layers layers = open();
    add(layers, 'a', 7);
  }

  Layers again = open();

  ASSERT_NE(again.find(id('a')), nullptr);
  EXPECT_EQ(again.find(id('a'))->pins, std::vector<std::string>{"a==1"});
  EXPECT_EQ(again.bytes(), 7u);
}

TEST_F(LayersTest, ThatAreNotWholeAreRemoved) {
  {
    Layers layers = open();
    add(layers, 'a', 1);
    ASSERT_TRUE(layers.begin());  // and then it was killed
  }
  fs::create_directory(directory_ + "/" + id('b'));  // named, and not yet told about
  std::ofstream(directory_ + "/" + id('c') + ".json") << "{}";

  Layers again = open();

  EXPECT_EQ(again.list().size(), 1u);
  std::size_t left = 0;
  for (const auto& entry : fs::directory_iterator(directory_)) left += entry.exists() ? 1 : 0;
  EXPECT_EQ(left, 2u) << "the one tree and what is told about it";
}

TEST_F(LayersTest, GoInTheOrderOfTheirUseAndNotWhileInUse) {
  {
    Layers layers = open();
    for (char c : {'a', 'b', 'c'}) add(layers, c, 10);
  }
  age('a', 100);
  age('b', 300);
  age('c', 200);
  Layers layers = open();

  EXPECT_EQ(layers.prune(10, {id('b')}), 2u);

  EXPECT_EQ(layers.find(id('a')), nullptr);
  EXPECT_EQ(layers.find(id('c')), nullptr);
  EXPECT_NE(layers.find(id('b')), nullptr) << "in use";
  EXPECT_FALSE(fs::exists(directory_ + "/" + id('a')));
}

TEST_F(LayersTest, AreRememberedByWhatWasAskedFor) {
  Layers layers = open();
  add(layers, 'a', 1);
  add(layers, 'b', 1);
  layers.remember("wish", {{id('a'), id('b')}});
  layers.remember("nothing", {});

  EXPECT_EQ(layers.recall("wish", std::chrono::hours(1))->layers, (LayerList{id('a'), id('b')}));
  EXPECT_EQ(layers.recall("nothing", std::chrono::hours(1))->layers, LayerList{});
  EXPECT_FALSE(layers.recall("other", std::chrono::hours(1)));
  EXPECT_FALSE(layers.recall("wish", std::chrono::seconds(-1))) << "too old";
  ASSERT_TRUE(layers.remove(id('a')));
  EXPECT_FALSE(layers.recall("wish", std::chrono::hours(1))) << "one of its layers is gone";
}

TEST_F(LayersTest, ForgetWhatWasAskedForWithItsLayerOrWithTime) {
  Layers layers = open();
  add(layers, 'a', 1);
  add(layers, 'b', 1);
  layers.remember("of-a", {{id('a')}});
  layers.remember("of-b", {{id('b')}});
  layers.remember("old", {});
  layers.remember("new", {});
  const timespec then{::time(nullptr) - 2 * 24 * 3600, 0};
  const timespec times[] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory_ + "/wish-old").c_str(), times, 0), 0);

  EXPECT_EQ(layers.prune(0, {id('b')}), 1u);

  EXPECT_FALSE(fs::exists(directory_ + "/wish-of-a"));
  EXPECT_TRUE(fs::exists(directory_ + "/wish-of-b"));
  EXPECT_FALSE(fs::exists(directory_ + "/wish-old"));
  EXPECT_TRUE(fs::exists(directory_ + "/wish-new"));
  layers.forget(1);
  EXPECT_NE(fs::exists(directory_ + "/wish-of-b"), fs::exists(directory_ + "/wish-new"));
}

TEST_F(LayersTest, KeepWhatSomebodyHolds) {
  Layers layers = open();
  add(layers, 'a', 10);
  add(layers, 'b', 10);
  Layers::Hold hold = layers.hold(id('a'));
  Layers::Hold second = layers.hold(id('a'));
  hold.reset();

  EXPECT_EQ(layers.prune(0, {}), 1u);
  EXPECT_NE(layers.find(id('a')), nullptr);
  second.reset();
  EXPECT_EQ(layers.prune(0, {}), 1u);
  EXPECT_EQ(layers.find(id('a')), nullptr);
}

TEST_F(LayersTest, AreForgottenOnceTheirFilesAreGone) {
  Layers layers = open();
  add(layers, 'a', 10);
  EXPECT_FALSE(layers.forget_lost(id('a')));

  fs::remove_all(directory_ + "/" + id('a'));

  EXPECT_TRUE(layers.forget_lost(id('a')));
  EXPECT_EQ(layers.find(id('a')), nullptr);
  EXPECT_TRUE(layers.forget_lost(id('a')));
}

}  // namespace
}  // namespace vitrine::packages
