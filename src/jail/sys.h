// SPDX-License-Identifier: Apache-2.0
// Sys: every system call of the jail goes through it, so that a test can make each of them fail once and
// check that no half-built jail ever runs code.
#pragma once

#include <cerrno>
#include <cstdint>
#include <type_traits>

namespace vitrine::jail {

class Sys {
 public:
  // The `fail_at`-th call fails with EIO without being made; 0 = none does.
  explicit Sys(std::uint32_t fail_at = 0) : left_(fail_at) {}

  // sys(::mount, source, target, ...) calls mount(source, target, ...).
  template <class Call, class... Arguments>
  auto operator()(Call call, Arguments... arguments) -> decltype(call(arguments...)) {
    static_assert(!std::is_same_v<decltype(call(arguments...)), bool>, "-1 would be true");
    if (fails()) {
      if constexpr (std::is_pointer_v<decltype(call(arguments...))>) return nullptr;
      else return static_cast<decltype(call(arguments...))>(-1);
    }
    return call(arguments...);
  }

  // For a call that is made elsewhere: true if it must not be made and counts as failed.
  bool fails() {
    if (left_ == 0 || --left_ != 0) return false;
    errno = EIO;
    return true;
  }

  // After a fork: skips the numbers of the other process's calls, so that no two calls share one.
  void skip(std::uint32_t calls) { left_ = left_ > calls ? left_ - calls : 0; }

 private:
  std::uint32_t left_;
};

}  // namespace vitrine::jail
