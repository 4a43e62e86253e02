// SPDX-License-Identifier: Apache-2.0
#include "screen/placement.h"

#include <gtest/gtest.h>

#include "screen/listing.h"

namespace vitrine::screen {
namespace {

const Rect kScreen{0, 0, 1000, 800};

TEST(Place, PutsTheFirstWindowIntoTheMiddleAndTheNextBesideIt) {
  const Rect first = place({{0, 0, 400, 200}, false, {}}, kScreen, {});
  const Rect second = place({{0, 0, 400, 200}, false, {}}, kScreen, {first});

  EXPECT_EQ(first, (Rect{300, 300, 400, 200}));
  EXPECT_EQ(second, (Rect{328, 328, 400, 200}));
}

TEST(Place, LeavesAWindowWhereItWantsToBeIfThatCanBeSeen) {
  EXPECT_EQ(place({{-50, 700, 100, 200}, true, {}}, kScreen, {}), (Rect{-50, 700, 100, 200}));
  EXPECT_EQ(place({{-500, 0, 100, 200}, true, {}}, kScreen, {}), (Rect{450, 300, 100, 200}));
  EXPECT_EQ(place({{5000, 0, 100, 200}, true, {}}, kScreen, {}).x, 450);
}

TEST(Place, PutsADialogIntoTheMiddleOfItsWindowButOnTheScreen) {
  EXPECT_EQ(place({{0, 0, 100, 100}, false, Rect{600, 400, 200, 200}}, kScreen, {}),
            (Rect{650, 450, 100, 100}));
  EXPECT_EQ(place({{0, 0, 300, 100}, false, Rect{900, 0, 100, 50}}, kScreen, {}),
            (Rect{700, 0, 300, 100}));
}

TEST(Place, KeepsTheCornerOfAWindowThatIsTooLargeInSight) {
  const Rect placed = place({{0, 0, 65'535, 65'535}, false, {}}, kScreen, {});

  EXPECT_EQ(placed.x, 0);
  EXPECT_EQ(placed.y, 0);
  EXPECT_LE(placed.width, 16'384);
}

TEST(Place, ComesToAnEndWhenEveryPlaceIsTaken) {
  std::vector<Rect> others;
  for (int i = 0; i < 1000; ++i) others.push_back({i, i, 10, 10});

  const Rect placed = place({{0, 0, 10, 10}, false, {}}, kScreen, others);

  EXPECT_GE(placed.x, 0);
  EXPECT_LT(placed.y, 800);
}

TEST(CleanTitle, CutsAtACharacterAndLeavesNoControls) {
  std::string long_title;
  for (int i = 0; i < 200; ++i) long_title += "€";

  EXPECT_EQ(clean_title(long_title, true).size(), 255u) << "85 whole characters";
  EXPECT_EQ(clean_title("a\nb\x7F", true), "a b ");
  EXPECT_EQ(clean_title("caf\xE9", false), "café") << "Latin-1, as old programs write";
  EXPECT_EQ(clean_title("\xFF\xFEx", true), "??x");
  EXPECT_LE(clean_title(std::string(1000, '\xE9'), false).size(), 256u);
}

}  // namespace
}  // namespace vitrine::screen
