// SPDX-License-Identifier: Apache-2.0
// Which keycode produces which keysym, and which keycodes may be remapped.
//
// A value, read from the X server before each input, because programs may change it. Only the plain
// and shifted levels of the first group are used.
//
// A spare key produces nothing, or only keysyms of media keys. A spare key that was given a character
// keeps it: a busy program looks up the mapping later, when it reads its events.
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

  // The key that produces it; nullopt if none does.
  std::optional<Stroke> find(Keysym keysym) const;

  // How many keysyms can have a spare key at the same time.
  std::size_t spares() const;
  bool is_spare(Keycode keycode) const { return rows_[keycode].spare; }
  // Maps the least recently used spare key to `keysym`, and marks it as used.
  struct Loan {
    Keycode keycode = 0;    // 0 = there is no spare key
    bool was_lent = false;  // it was mapped to another keysym, which programs may still look up
  };
  Loan lend(Keysym keysym);
  // Marks a key as used, so that it is not the next one to be remapped.
  void touch(Keycode keycode);

 private:
  struct Row {
    Keysym plain = 0;
    Keysym shifted = 0;
    bool spare = false;
  };
  std::array<Row, 256> rows_{};
  std::array<std::uint64_t, 256> used_{};  // value of clock_ at its last use
  std::array<bool, 256> lent_{};
  std::uint64_t clock_ = 0;
};

}  // namespace vitrine::screen
