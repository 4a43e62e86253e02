// SPDX-License-Identifier: Apache-2.0
// Which key makes which keysym, and which keys may be given new ones.
//
// A value: read from the server before each input, since programs may change it. Only the first
// group's plain and shifted levels are used.
//
// Spare keys make nothing, or only what no keyboard of a session has (the keys of media players). One
// that was given a character keeps it: a program that is busy now reads its events, and asks what
// they mean, later.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "screen/keys.h"

namespace vitrine::screen {

using Keycode = std::uint8_t;

struct Stroke {
  Keycode keycode = 0;
  bool shifted = false;
  bool operator==(const Stroke&) const = default;
};

class Keymap {
 public:
  // Rows of `width` keysyms, for keycodes from `first` on.
  void read(Keycode first, std::size_t width, const std::vector<Keysym>& rows);

  // How to make it; nothing if no key does.
  std::optional<Stroke> find(Keysym keysym) const;

  // How many keysyms can be lent keys at the same time.
  std::size_t spares() const;
  bool is_spare(Keycode keycode) const { return rows_[keycode].spare; }
  // Gives `keysym` the spare key that was used longest ago, and marks it as used.
  struct Loan {
    Keycode keycode = 0;    // 0 = there is no spare key
    bool was_lent = false;  // it had another meaning before, which programs may still need
  };
  Loan lend(Keysym keysym);
  // Marks a key as used, so that it is not the next one to be lent again.
  void touch(Keycode keycode);

 private:
  struct Row {
    Keysym plain = 0;
    Keysym shifted = 0;
    bool spare = false;
  };
  std::array<Row, 256> rows_{};
  std::array<std::uint64_t, 256> used_{};  // when it was last typed with
  std::array<bool, 256> lent_{};
  std::uint64_t clock_ = 0;
};

}  // namespace vitrine::screen
