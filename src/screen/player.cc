// SPDX-License-Identifier: Apache-2.0
#include "screen/player.h"

#include <xcb/xtest.h>

#include <algorithm>

namespace vitrine::screen {

namespace {

constexpr int kStepsInATurn = 64;
constexpr auto kMaxCatchUp = std::chrono::milliseconds(2000);  // a program that does not read
// One that gives no sign (Tk): what a slow one needs for each key that it may not have read yet.
constexpr auto kBlindCatchUp = std::chrono::milliseconds(100);
constexpr auto kBlindKey = std::chrono::milliseconds(6);

void fake(const X& x, std::uint8_t type, std::uint8_t detail, int to_x = 0, int to_y = 0) {
  xcb_test_fake_input(x, type, detail, XCB_CURRENT_TIME, x.root(), static_cast<std::int16_t>(to_x),
                      static_cast<std::int16_t>(to_y), 0);
}

}  // namespace

bool Player::play(Clock::time_point now) {
  if (!busy_ || paused(now)) return false;
  pinged_.reset();
  for (int i = 0; i < kStepsInATurn && !steps_.empty() && !paused(now); ++i) {
    const Step step = steps_.front();
    steps_.pop_front();
    apply(step, now);
  }
  if (!steps_.empty() || paused(now)) return false;
  x_.round_trip();
  busy_ = false;
  return true;
}

std::optional<Clock::time_point> Player::wakes() const {
  if (!busy_) return std::nullopt;
  return resumes_;
}

bool Player::paused(Clock::time_point now) const {
  return now < resumes_ && !(pinged_ && window_manager_.ponged() == *pinged_);
}

// Neighbours at once: every request makes every program read the whole keyboard anew.
void Player::remap(const Remap& first) {
  std::vector<Keysym> keysyms{first.keysym, first.keysym};
  std::uint8_t count = 1;
  while (!steps_.empty()) {
    const auto* next = std::get_if<Remap>(&steps_.front());
    if (next == nullptr || next->keycode != first.keycode + count) break;
    keysyms.insert(keysyms.end(), {next->keysym, next->keysym});
    ++count;
    steps_.pop_front();
  }
  xcb_change_keyboard_mapping(x_, count, first.keycode, 2, keysyms.data());
}

void Player::apply(const Step& step, Clock::time_point now) {
  if (const auto* to = std::get_if<MoveTo>(&step)) {
    fake(x_, XCB_MOTION_NOTIFY, 0, to->x, to->y);
  } else if (const auto* press = std::get_if<ButtonEvent>(&step)) {
    if (press->down && press->button <= 3) window_manager_.pressed();
    fake(x_, press->down ? XCB_BUTTON_PRESS : XCB_BUTTON_RELEASE, press->button);
  } else if (const auto* strike = std::get_if<KeyEvent>(&step)) {
    if (strike->down) ++keys_since_wait_;
    fake(x_, strike->down ? XCB_KEY_PRESS : XCB_KEY_RELEASE, strike->keycode);
  } else if (const auto* remap = std::get_if<Remap>(&step)) {
    this->remap(*remap);
  } else if (const auto* pause = std::get_if<Pause>(&step)) {
    resumes_ = now + std::chrono::milliseconds(pause->milliseconds);
  } else if (std::holds_alternative<WaitForProgram>(step)) {
    pinged_ = window_manager_.ping();
    const auto blind = kBlindCatchUp + kBlindKey * std::min(keys_since_wait_, 300);
    resumes_ = now + (pinged_ ? kMaxCatchUp : blind);
    keys_since_wait_ = 0;
  } else if (const auto* close = std::get_if<AskToClose>(&step)) {
    window_manager_.close(close->window);
  }
}

void read_keymap(const X& x, Keymap& keymap) {
  const xcb_setup_t* setup = xcb_get_setup(x);
  const auto count = static_cast<std::uint8_t>(setup->max_keycode - setup->min_keycode + 1);
  const Reply<xcb_get_keyboard_mapping_reply_t> reply(xcb_get_keyboard_mapping_reply(
      x, xcb_get_keyboard_mapping(x, setup->min_keycode, count), nullptr));
  if (!reply) return;
  const xcb_keysym_t* keysyms = xcb_get_keyboard_mapping_keysyms(reply.get());
  const int length = xcb_get_keyboard_mapping_keysyms_length(reply.get());
  keymap.read(setup->min_keycode, reply->keysyms_per_keycode,
              std::vector<Keysym>(keysyms, keysyms + length));
}

Screen read_screen(const X& x, const WindowManager& window_manager) {
  const Reply<xcb_query_pointer_reply_t> pointer(
      xcb_query_pointer_reply(x, xcb_query_pointer(x, x.root()), nullptr));
  return {window_manager.screen().width, window_manager.screen().height,
          pointer && (pointer->mask & XCB_MOD_MASK_LOCK) != 0};
}

}  // namespace vitrine::screen
