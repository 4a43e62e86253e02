// SPDX-License-Identifier: Apache-2.0
#include "screen/script.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace vitrine::screen {
namespace {

namespace w = wire::screen;

// Keycodes from 8 on: a/A, b/B, Shift, Caps Lock, a keypad key, and three spare ones.
Keymap small_keyboard() {
  Keymap keymap;
  keymap.read(
      8, 2, {'a', 'A', 'b', 'B', 0xFFE1, 0, 0xFFE5, 0, 0xFF95, 0xFFB7, 0, 0, 0x1008FF11, 0, 0, 0});
  return keymap;
}
constexpr Keycode kA = 8, kShift = 10, kCaps = 11;
const Screen kScreen{.width = 100, .height = 80};

std::vector<Step> script(const std::vector<w::InputEvent>& events, Keymap& keymap,
                         const Screen& screen = kScreen) {
  auto made = make_script(events, screen, keymap);
  EXPECT_TRUE(std::holds_alternative<std::vector<Step>>(made));
  return std::get<std::vector<Step>>(std::move(made));
}

// The keys that go down, and their meanings when they do.
struct Typed {
  std::vector<Keycode> down;
  std::vector<Keysym> meant;
  int catch_ups = 0;
};
Typed play(const std::vector<Step>& steps) {
  Typed typed;
  std::map<Keycode, Keysym> meanings;
  for (const Step& step : steps) {
    if (const auto* remap = std::get_if<Remap>(&step)) meanings[remap->keycode] = remap->keysym;
    if (std::holds_alternative<WaitForProgram>(step)) ++typed.catch_ups;
    if (const auto* strike = std::get_if<KeyEvent>(&step); strike != nullptr && strike->down) {
      typed.down.push_back(strike->keycode);
      if (meanings.contains(strike->keycode)) typed.meant.push_back(meanings[strike->keycode]);
    }
  }
  return typed;
}

bool every_key_comes_up(const std::vector<Step>& steps) {
  std::set<Keycode> down;
  for (const Step& step : steps)
    if (const auto* strike = std::get_if<KeyEvent>(&step))
      strike->down ? (void)down.insert(strike->keycode) : (void)down.erase(strike->keycode);
  return down.empty();
}

TEST(Keymap, FindsPlainAndShiftedKeysButNotTheKeypadsSecondLevel) {
  const Keymap keymap = small_keyboard();

  EXPECT_EQ(keymap.find('a'), (Stroke{kA, false}));
  EXPECT_EQ(keymap.find('A'), (Stroke{kA, true}));
  EXPECT_FALSE(keymap.find(0xFFB7));
  EXPECT_FALSE(keymap.find('z'));
  EXPECT_EQ(keymap.spares(), 3u);
}

TEST(Keymap, LendsTheKeyThatWasUsedLongestAgo) {
  Keymap keymap = small_keyboard();

  const Keycode x = keymap.lend('x').keycode;
  keymap.lend('y');
  keymap.lend('z');
  keymap.touch(x);
  const Keymap::Loan next = keymap.lend('w');

  EXPECT_NE(next.keycode, x);
  EXPECT_TRUE(next.was_lent);
  EXPECT_TRUE(keymap.find('x'));
  EXPECT_FALSE(keymap.find('y'));
}

TEST(Script, TypesWithTheKeysThereAre) {
  Keymap keymap = small_keyboard();

  const std::vector<Step> steps = script({w::Text{"aAb"}}, keymap);

  EXPECT_EQ(play(steps).down, (std::vector<Keycode>{kA, kShift, kA, 9}));
  EXPECT_TRUE(every_key_comes_up(steps));
}

TEST(Script, MapsForeignCharactersFirstAndTypesThem) {
  Keymap keymap = small_keyboard();

  const std::vector<Step> steps = script({w::Text{"éaßé"}}, keymap);

  EXPECT_TRUE(std::holds_alternative<Remap>(steps[0]));
  EXPECT_TRUE(std::holds_alternative<Remap>(steps[1]));
  EXPECT_TRUE(std::holds_alternative<Pause>(steps[2])) << "programs learn it, once";
  EXPECT_EQ(play(steps).meant, (std::vector<Keysym>{0xE9, 0xDF, 0xE9}));
  EXPECT_EQ(play(steps).catch_ups, 0);
}

TEST(Script, WaitsForTheProgramBeforeItTakesAKeyAway) {
  Keymap keymap = small_keyboard();

  const Typed typed = play(script({w::Text{"cdefgh"}}, keymap));

  EXPECT_EQ(typed.meant, (std::vector<Keysym>{'c', 'd', 'e', 'f', 'g', 'h'}));
  EXPECT_EQ(typed.catch_ups, 1);
}

TEST(Script, KeepsKeysFromTextToText) {
  Keymap keymap = small_keyboard();
  script({w::Text{"cd"}}, keymap);

  const std::vector<Step> steps = script({w::Text{"cde"}}, keymap);

  EXPECT_EQ(play(steps).catch_ups, 0) << "one spare key was left for the third";
  EXPECT_EQ(play(steps).meant, (std::vector<Keysym>{'e'}));
}

TEST(Script, UnlocksCapsForATextAndLocksItAgain) {
  Keymap keymap = small_keyboard();
  const Screen locked{.width = 100, .height = 80, .caps_lock = true};

  EXPECT_EQ(play(script({w::Text{"a"}}, keymap, locked)).down,
            (std::vector<Keycode>{kCaps, kA, kCaps}));
  EXPECT_EQ(play(script({w::Key{"Caps_Lock"}, w::Text{"a"}}, keymap, locked)).down,
            (std::vector<Keycode>{kCaps, kA}));
}

TEST(Script, PressesAChordInOrderAndReleasesItInReverse) {
  Keymap keymap = small_keyboard();

  const std::vector<Step> steps = script({w::Key{"shift+a"}}, keymap);

  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(std::get<KeyEvent>(steps[0]).keycode, kShift);
  EXPECT_EQ(std::get<KeyEvent>(steps[1]).keycode, kA);
  EXPECT_EQ(std::get<KeyEvent>(steps[2]).keycode, kA);
  EXPECT_FALSE(std::get<KeyEvent>(steps[3]).down);
}

TEST(Script, MakesAltF4ARequestToClose) {
  Keymap keymap = small_keyboard();

  const std::vector<Step> steps = script({w::Key{"alt+F4"}}, keymap);

  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(std::get<AskToClose>(steps[0]).window, 0u);
}

TEST(Script, DragsThroughEveryStepToItsEnd) {
  Keymap keymap = small_keyboard();

  const std::vector<Step> steps = script({w::Drag{{0, 0}, {9, 30}, 1, 3}}, keymap);

  std::vector<std::pair<int, int>> path;
  for (const Step& step : steps)
    if (const auto* to = std::get_if<MoveTo>(&step)) path.emplace_back(to->x, to->y);
  EXPECT_EQ(path, (std::vector<std::pair<int, int>>{{0, 0}, {3, 10}, {6, 20}, {9, 30}}));
}

TEST(Script, RefusesTheFirstEventThatCannotBeFollowed) {
  Keymap keymap = small_keyboard();

  auto made = make_script({w::Key{"a"}, w::Move{{100, 0}}, w::Key{"nonsense"}}, kScreen, keymap);

  const auto* refusal = std::get_if<Refusal>(&made);
  ASSERT_NE(refusal, nullptr);
  EXPECT_EQ(refusal->event, 1);
  EXPECT_EQ(refusal->text, "100,0 is not on the screen: x is 0 to 99, y is 0 to 79");
}

TEST(Script, AKeyboardWithoutSpareKeysRefusesInsteadOfTypingSomethingElse) {
  Keymap keymap;
  keymap.read(8, 2, {'a', 'A'});

  auto made = make_script({w::Text{"aé"}}, kScreen, keymap);

  EXPECT_TRUE(std::holds_alternative<Refusal>(made));
  EXPECT_TRUE(std::holds_alternative<Refusal>(make_script({w::Text{"A"}}, kScreen, keymap)))
      << "there is no shift";
}

TEST(Keymap, SurvivesRowsThatMakeNoSense) {
  Keymap keymap;
  keymap.read(8, 0, {1, 2, 3});
  keymap.read(250, 2, std::vector<Keysym>(1000, 'x'));
  keymap.read(8, 200, {1, 2, 3});

  EXPECT_FALSE(keymap.find('x'));
}

}  // namespace
}  // namespace vitrine::screen
