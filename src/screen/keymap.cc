// SPDX-License-Identifier: Apache-2.0
#include "screen/keymap.h"

#include <algorithm>

namespace vitrine::screen {

namespace {

bool is_media_key(Keysym keysym) { return keysym >= 0x1008FF00 && keysym <= 0x1008FFFF; }
// Their shifted level depends on Num Lock.
bool is_keypad_key(Keysym keysym) { return keysym >= 0xFF80 && keysym <= 0xFFB9; }

}  // namespace

void Keymap::read(Keycode first, std::size_t width, const std::vector<Keysym>& rows) {
  rows_ = {};
  if (width == 0) return;
  for (std::size_t i = 0; (i + 1) * width <= rows.size() && first + i < rows_.size(); ++i) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(i * width);
    const auto end = begin + static_cast<std::ptrdiff_t>(width);
    const std::size_t keycode = first + i;
    Row& row = rows_[keycode];
    row.plain = *begin;
    row.shifted = width > 1 ? *(begin + 1) : 0;
    row.spare = lent_[keycode] ||
                std::all_of(begin, end, [](Keysym k) { return k == 0 || is_media_key(k); });
  }
}

std::optional<Stroke> Keymap::find(Keysym keysym) const {
  std::optional<Stroke> with_shift;
  for (std::size_t keycode = 8; keycode < rows_.size(); ++keycode) {
    const Row& row = rows_[keycode];
    if (row.plain == keysym) return Stroke{static_cast<Keycode>(keycode), false};
    if (row.shifted == keysym && !is_keypad_key(row.plain) && !with_shift)
      with_shift = Stroke{static_cast<Keycode>(keycode), true};
  }
  return with_shift;
}

std::size_t Keymap::spares() const {
  return static_cast<std::size_t>(std::ranges::count_if(rows_, &Row::spare));
}

Keymap::Loan Keymap::lend(Keysym keysym) {
  std::size_t oldest = 0;
  for (std::size_t keycode = 8; keycode < rows_.size(); ++keycode)
    if (rows_[keycode].spare && (oldest == 0 || used_[keycode] < used_[oldest])) oldest = keycode;
  if (oldest == 0) return {};
  const Loan loan{static_cast<Keycode>(oldest), lent_[oldest]};
  rows_[oldest] = Row{keysym, keysym, true};
  lent_[oldest] = true;
  touch(loan.keycode);
  return loan;
}

void Keymap::touch(Keycode keycode) { used_[keycode] = ++clock_; }

}  // namespace vitrine::screen
