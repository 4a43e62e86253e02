// SPDX-License-Identifier: Apache-2.0
// How much is under way at once: at most so many requests have begun and are not over; the others
// wait here, in order. A burst then costs memory for the requests alone, not for descriptors and
// cgroups of all of them, and no peer's socket is ever filled.
//
// Threading: the keeper's loop. `begin` may call anything of the window, and leave() at once.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

namespace vitrine::keeper {

class RequestWindow {
 public:
  explicit RequestWindow(std::size_t most) : most_(most) {}

  // Calls `begin` now, or when all before it have begun and there is room.
  void enter(std::function<void()> begin);
  // One that had begun is over.
  void leave();
  // All that had begun is over: whoever was to answer is gone.
  void clear();
  // Nothing begins for as long as it is closed.
  void close() { open_ = false; }
  void open();
  // Begins all that wait, at once: they are going to be refused.
  void flush();

  std::size_t waiting() const { return waiting_.size(); }

 private:
  void advance();

  const std::size_t most_;
  std::size_t begun_ = 0;
  bool open_ = true;
  bool advancing_ = false;  // one that begins may be over at once: no deeper than one level
  std::deque<std::function<void()>> waiting_;
};

}  // namespace vitrine::keeper
