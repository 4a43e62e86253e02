// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/request_window.h"

#include <gtest/gtest.h>

#include <vector>

namespace vitrine::keeper {
namespace {

class RequestWindowTest : public testing::Test {
 protected:
  void enter(int number) {
    window_.enter([this, number] { begun_.push_back(number); });
  }

  RequestWindow window_{2};
  std::vector<int> begun_;
};

TEST_F(RequestWindowTest, BeginsAsManyAsThereIsRoomFor) {
  for (int n = 1; n <= 4; ++n) enter(n);

  EXPECT_EQ(begun_, (std::vector{1, 2}));
  EXPECT_EQ(window_.waiting(), 2u);
}

TEST_F(RequestWindowTest, BeginsTheOthersInOrderAsThoseBeforeThemEnd) {
  for (int n = 1; n <= 4; ++n) enter(n);

  window_.leave();
  EXPECT_EQ(begun_, (std::vector{1, 2, 3}));
  enter(5);
  window_.leave();
  window_.leave();

  EXPECT_EQ(begun_, (std::vector{1, 2, 3, 4, 5}));
}

TEST_F(RequestWindowTest, TakesThousandsThatAreOverAtOnce) {
  constexpr int kMany = 100'000;
  int begun = 0;
  window_.close();
  for (int n = 0; n < kMany; ++n)
    window_.enter([this, &begun] {
      ++begun;
      window_.leave();
    });
  EXPECT_EQ(begun, 0);

  window_.open();

  EXPECT_EQ(begun, kMany);
}

TEST_F(RequestWindowTest, KeepsThoseThatWaitWhenThePeerIsGone) {
  for (int n = 1; n <= 4; ++n) enter(n);

  window_.close();
  window_.clear();
  EXPECT_EQ(begun_, (std::vector{1, 2}));
  window_.open();

  EXPECT_EQ(begun_, (std::vector{1, 2, 3, 4}));
}

TEST_F(RequestWindowTest, LetsEverybodyInAtTheEnd) {
  for (int n = 1; n <= 4; ++n) enter(n);

  window_.flush();

  EXPECT_EQ(begun_, (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(window_.waiting(), 0u);
}

}  // namespace
}  // namespace vitrine::keeper
