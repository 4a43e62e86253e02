// SPDX-License-Identifier: Apache-2.0
#include "screen/script.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace vitrine::screen {

namespace {

namespace w = wire::screen;

constexpr Keysym kShift = 0xFFE1;
constexpr Keysym kCapsLock = 0xFFE5;
constexpr Keysym kAlt = 0xFFE9;
constexpr Keysym kF4 = 0xFFC1;

constexpr std::uint32_t kButtonHeld = 8;      // ms; some programs poll the buttons
constexpr std::uint32_t kBetweenClicks = 30;  // well within everyone's double click
constexpr std::uint32_t kDragStep = 6;
constexpr std::uint32_t kLearnMapping = 30;  // until programs know new meanings of keys
constexpr const char* kNoKey = "this keyboard has no free key for it";
constexpr const char* kNoControl =
    "a text has no control characters but \\n and \\t; a key event does others: BackSpace, Escape";
constexpr std::size_t kBurst = 16;  // characters without a pause

class Writer {
 public:
  Writer(const Screen& screen, Keymap& keymap)
      : screen_(screen), keymap_(keymap), caps_lock_(screen.caps_lock) {}

  // Each returns why not, or nothing.
  using Complaint = std::optional<std::string>;

  Complaint operator()(const w::Move& move) { return go(move.to); }
  Complaint operator()(const w::Click& click) {
    if (Complaint no = go(click.at)) return no;
    for (int i = 0; i < click.count; ++i) {
      if (i > 0) add(Pause{kBetweenClicks});
      press(click.button, true);
      add(Pause{kButtonHeld});
      press(click.button, false);
    }
    return {};
  }
  Complaint operator()(const w::Drag& drag) {
    if (Complaint no = go(drag.from)) return no;
    if (Complaint no = inside(drag.to)) return no;
    press(drag.button, true);
    for (int i = 1; i <= drag.steps; ++i) {
      add(Pause{kDragStep});
      add(MoveTo{drag.from.x + (drag.to.x - drag.from.x) * i / drag.steps,
                 drag.from.y + (drag.to.y - drag.from.y) * i / drag.steps});
    }
    add(Pause{kDragStep});
    press(drag.button, false);
    return {};
  }
  Complaint operator()(const w::Scroll& scroll) {
    if (Complaint no = go(scroll.at)) return no;
    notches(scroll.dy < 0 ? 4 : 5, std::abs(scroll.dy));
    notches(scroll.dx < 0 ? 6 : 7, std::abs(scroll.dx));
    return {};
  }
  Complaint operator()(const w::Text& text) { return type(text.text); }
  Complaint operator()(const w::Key& key) {
    Result<std::vector<Keysym>> chord = parse_chord(key.key);
    if (!chord) return chord.error().message;
    // Closing is the window manager's part of this chord.
    if (*chord == std::vector{kAlt, kF4}) return add(AskToClose{0}), Complaint{};
    if (*chord == std::vector{kCapsLock}) caps_lock_ = !caps_lock_;
    Result<std::vector<Keycode>> codes = keycodes(*chord);
    if (!codes) return codes.error().message;
    for (const Keycode code : *codes) add(KeyEvent{code, true});
    std::ranges::reverse(*codes);
    for (const Keycode code : *codes) add(KeyEvent{code, false});
    return {};
  }
  Complaint operator()(const w::ButtonDown& down) {
    if (Complaint no = go(down.at)) return no;
    return press(down.button, true), Complaint{};
  }
  Complaint operator()(const w::ButtonUp& up) {
    if (Complaint no = go(up.at)) return no;
    return press(up.button, false), Complaint{};
  }
  Complaint operator()(const w::KeyDown& key) { return strike(key.key, true); }
  Complaint operator()(const w::KeyUp& key) { return strike(key.key, false); }
  Complaint operator()(const w::Pause& pause) {
    return add(Pause{pause.milliseconds}), Complaint{};
  }
  Complaint operator()(const w::Close& close) { return add(AskToClose{close.window}), Complaint{}; }

  std::vector<Step> take() { return std::move(steps_); }

 private:
  void add(Step step) { steps_.push_back(step); }
  void press(std::uint8_t button, bool down) { add(ButtonEvent{button, down}); }
  void notches(std::uint8_t button, int count) {
    for (int i = 0; i < count; ++i) {
      press(button, true);
      press(button, false);
    }
  }

  Complaint inside(const w::Point& point) const {
    if (point.x >= 0 && point.y >= 0 && point.x < screen_.width && point.y < screen_.height)
      return {};
    return std::to_string(point.x) + "," + std::to_string(point.y) +
           " is not on the screen: x is 0 to " + std::to_string(screen_.width - 1) +
           ", y is 0 to " + std::to_string(screen_.height - 1);
  }
  Complaint go(const std::optional<w::Point>& point) {
    if (!point) return {};
    if (Complaint no = inside(*point)) return no;
    return add(MoveTo{point->x, point->y}), Complaint{};
  }

  // The keys of a chord. Those that have none are lent one, all at once.
  Result<std::vector<Keycode>> keycodes(const std::vector<Keysym>& chord) {
    if (Complaint no = lend(std::set<Keysym>(chord.begin(), chord.end())))
      return Error{Code::unsupported, *no};
    std::vector<Keycode> codes;
    const std::optional<Stroke> shift = keymap_.find(kShift);
    for (const Keysym keysym : chord) {
      const Stroke stroke = keymap_.find(keysym).value();
      if (stroke.shifted && shift && std::ranges::find(codes, shift->keycode) == codes.end())
        codes.push_back(shift->keycode);
      codes.push_back(stroke.keycode);
    }
    return codes;
  }

  Complaint strike(const std::string& name, bool down) {
    Result<Keysym> key = parse_key(name);
    if (!key) return key.error().message;
    if (Complaint no = lend({*key})) return no;
    add(KeyEvent{keymap_.find(*key).value().keycode, down});
    return {};
  }

  // Gives each of them a key that has none. Those that have one keep it: they are used now.
  Complaint lend(const std::set<Keysym>& wanted) {
    for (const Keysym keysym : wanted)
      if (const std::optional<Stroke> stroke = keymap_.find(keysym)) keymap_.touch(stroke->keycode);
    std::vector<Remap> remaps;
    bool taken_away = false;
    for (const Keysym keysym : wanted) {
      if (keymap_.find(keysym)) continue;
      const Keymap::Loan loan = keymap_.lend(keysym);
      if (loan.keycode == 0) return kNoKey;
      taken_away = taken_away || loan.was_lent;
      remaps.push_back({loan.keycode, keysym});
    }
    for (const Keysym keysym : wanted)
      if (!keymap_.find(keysym)) return kNoKey;
    if (taken_away) add(WaitForProgram{});
    std::ranges::sort(remaps, {}, &Remap::keycode);
    for (const Remap& remap : remaps) add(remap);
    if (remaps.empty()) return {};
    add(Pause{kLearnMapping});
    return {};
  }

  Complaint type(const std::string& utf8) {
    std::vector<Keysym> keysyms;
    for (const char32_t character : characters_of(utf8)) {
      keysyms.push_back(keysym_of(character));
      if (keysyms.back() == 0) return kNoControl;
    }
    if (caps_lock_) tap(kCapsLock);
    for (std::size_t begin = 0; begin < keysyms.size();) {
      const std::size_t end = typable(keysyms, begin);
      std::set<Keysym> wanted(keysyms.begin() + static_cast<std::ptrdiff_t>(begin),
                              keysyms.begin() + static_cast<std::ptrdiff_t>(end));
      std::erase_if(wanted, [this](Keysym keysym) { return !is_foreign(keysym); });
      if (end == begin) return kNoKey;
      if (Complaint no = lend(wanted)) return no;
      for (std::size_t i = begin; i < end; ++i) {
        if ((i - begin) % kBurst == kBurst - 1) add(Pause{1});
        if (Complaint no = tap(keysyms[i])) return no;
      }
      begin = end;
    }
    if (caps_lock_) tap(kCapsLock);
    return {};
  }

  // Up to where a text can be typed without taking a key away from one of its own characters.
  std::size_t typable(const std::vector<Keysym>& keysyms, std::size_t begin) const {
    const std::size_t most = keymap_.spares();
    std::set<Keysym> foreign;
    std::size_t end = begin;
    for (; end < keysyms.size(); ++end) {
      if (foreign.contains(keysyms[end]) || !is_foreign(keysyms[end])) continue;
      if (foreign.size() == most) break;
      foreign.insert(keysyms[end]);
    }
    return end;
  }

  // Made by a lent key, or by none yet.
  bool is_foreign(Keysym keysym) const {
    const std::optional<Stroke> stroke = keymap_.find(keysym);
    return !stroke || keymap_.is_spare(stroke->keycode);
  }

  Complaint tap(Keysym keysym) {
    const std::optional<Stroke> stroke = keymap_.find(keysym);
    const std::optional<Stroke> shift = keymap_.find(kShift);
    if (!stroke || (stroke->shifted && !shift)) return kNoKey;
    if (stroke->shifted) add(KeyEvent{shift->keycode, true});
    add(KeyEvent{stroke->keycode, true});
    add(KeyEvent{stroke->keycode, false});
    if (stroke->shifted) add(KeyEvent{shift->keycode, false});
    return {};
  }

  const Screen& screen_;
  Keymap& keymap_;
  bool caps_lock_;
  std::vector<Step> steps_;
};

}  // namespace

std::variant<std::vector<Step>, Refusal> make_script(const std::vector<w::InputEvent>& events,
                                                     const Screen& screen, Keymap& keymap) {
  Writer writer(screen, keymap);
  for (std::size_t i = 0; i < events.size(); ++i)
    if (std::optional<std::string> complaint = std::visit(writer, events[i]))
      return Refusal{static_cast<std::uint16_t>(i), std::move(*complaint)};
  return writer.take();
}

}  // namespace vitrine::screen
