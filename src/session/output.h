// SPDX-License-Identifier: Apache-2.0
// One output stream of an execution, bounded: the first half of the limit and the last half are kept,
// what lies between is counted and left out. Bytes become UTF-8 text; invalid ones become U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine::session {

class Output {
 public:
  explicit Output(std::size_t limit) : head_limit_(limit / 2), tail_limit_(limit - limit / 2) {}

  // Takes bytes in; gives the text that may be shown at once ("" once the head is full).
  std::string add(std::string_view bytes);
  // At the end: what was held back (half a character, the tail), to be shown last.
  std::string finish();

  bool truncated() const { return dropped_ > 0; }
  // All of it, with a mark where something is missing. After finish().
  std::string text() const;

 private:
  std::string decode(std::string_view bytes);
  void keep_tail(std::string_view text);
  std::string mark() const;

  std::size_t head_limit_;
  std::size_t tail_limit_;
  std::string pending_;  // an incomplete character
  std::string head_;
  std::string tail_;
  std::uint64_t dropped_ = 0;
};

}  // namespace vitrine::session
