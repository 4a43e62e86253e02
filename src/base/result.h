// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the reason there is none.
//
// Anything the outside world can cause returns a Result; return the error or log it, never both.
// `message` is shown to clients, so it holds no host path and no secret; `detail` is for the log.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace vitrine {

enum class Code {
  invalid_argument,
  not_found,
  conflict,
  over_limit,
  timed_out,
  unsupported,
  unavailable,
  internal,
};

std::string_view to_string(Code code);

struct Error {
  Code code = Code::internal;
  std::string message;
  std::string detail = {};
  std::string remedy = {};
  // What a program branches on where `code` is not exact enough: snake_case and stable. Each protocol
  // has a table that maps it to its own answer; "" = the code says it all.
  std::string reason = {};
  std::chrono::seconds retry_after{0};  // 0 = waiting does not help, or nobody knows how long

  // Call directly after the failed call: reads errno.
  static Error from_errno(std::string_view doing);
  static Error from_errno(std::string_view doing, int errnum);

  // "mounts: opening a session file failed"
  Error during(std::string_view what) &&;
  Error with_remedy(std::string_view text) &&;

  // One line for a log: code, message, detail, remedy.
  std::string describe() const;

  // For work that nobody outside asked for in such detail: what was not found, wrong or in conflict
  // there is our own trouble, `internal` to whoever asked for the whole.
  Error as_ours() &&;

  // Code and texts as bytes, from one of our processes to another. What cannot be unpacked is `internal`.
  std::string pack() const;
  static Error unpack(std::string_view packed);
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(*-explicit-*)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-*)

  explicit operator bool() const { return state_.index() == 0; }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// A Result without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(*-explicit-*)

  explicit operator bool() const { return !error_; }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

inline Status ok() { return {}; }

}  // namespace vitrine
