// SPDX-License-Identifier: Apache-2.0
// One description of a struct's fields for both directions.
//
// A struct of the wire lists its fields once, in the order of their bytes:
//
//   static void visit_fields(auto& io, auto& m) { io(m.session, m.execution); io.text(m.detail, 64); }
//
// `io` is a FieldWriter (then `m` is const) or a FieldReader. Both have the same methods; a bound
// given to one of them is enforced by the reader only. A struct without members needs no list. One
// that is declared in model/ is described by a function visit_fields(io, m) in this namespace.
//
// A FieldReader keeps the promise of Reader (wire/codec.h): it never reads beyond its bytes, never
// allocates more than they hold, and after the first mistake it stays failed.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "wire/codec.h"
#include "wire/utf8.h"

namespace vitrine::wire {

inline constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();

// T as the visitor IO sees it: const while it is written.
template <class IO, class T>
using Visited = std::conditional_t<IO::kReads, T, const T>;

template <class T>
concept Alternatives = requires {
  std::variant_size<T>::value;
};

// Visits the fields of a struct, wherever they are listed.
template <class IO, class T>
void visit(IO& io, T& value) {
  using Plain = std::remove_const_t<T>;
  if constexpr (requires { Plain::visit_fields(io, value); }) Plain::visit_fields(io, value);
  else if constexpr (!std::is_empty_v<Plain>) visit_fields(io, value);
}

class FieldWriter {
 public:
  static constexpr bool kReads = false;

  // Numbers, bools, byte strings and structs, in order.
  template <class... T>
  void operator()(const T&... fields) {
    (put(fields), ...);
  }
  template <class T>
  void up_to(const T& value, T /*last*/) {
    out_.u8(static_cast<std::uint8_t>(value));
  }
  template <class T>
  void between(const T& value, std::type_identity_t<T>, std::type_identity_t<T>) {
    put(value);
  }
  void text(const std::string& value, std::size_t = kNoBound) { out_.bytes(value); }
  void time(std::chrono::milliseconds value) {
    out_.u64(static_cast<std::uint64_t>(value.count()));
  }
  template <class T>
  void optional(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void padded(const std::optional<T>& value) {
    put(value.has_value());
    put(value.value_or(T{}));
  }
  template <class Count, class T, class Each>
  void list(const std::vector<T>& values, std::size_t /*most*/, Each each) {
    put(static_cast<Count>(values.size()));
    for (const T& value : values) each(value);
  }
  // The alternative's fields, without its number.
  template <class... T>
  void fields_of(const std::variant<T...>& value) {
    std::visit([this](const auto& one) { put(one); }, value);
  }
  // The alternative's number, then its fields.
  template <class... T>
  void variant(const std::variant<T...>& value) {
    static_assert(sizeof...(T) <= std::numeric_limits<std::uint8_t>::max());
    out_.u8(static_cast<std::uint8_t>(value.index()));
    fields_of(value);
  }
  void require(bool) {}

  Writer& raw() { return out_; }
  std::string take() { return out_.take(); }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::same_as<T, bool>) out_.u8(value ? 1 : 0);
    else if constexpr (std::integral<T>) out_.number(value);
    else if constexpr (std::same_as<T, std::string>) out_.bytes(value);
    else if constexpr (Alternatives<T>) variant(value);
    else visit(*this, value);
  }
  Writer out_;
};

class FieldReader {
 public:
  static constexpr bool kReads = true;
  explicit FieldReader(std::string_view bytes) : in_(bytes) {}

  template <class... T>
  void operator()(T&... fields) {
    (get(fields), ...);
  }
  // An enumeration that counts from 0 to `last`.
  template <class T>
  void up_to(T& value, T last) {
    const std::uint8_t number = in_.u8();
    if (number > static_cast<std::uint8_t>(last)) in_.fail();
    else value = T{number};
  }
  template <class T>
  void between(T& value, std::type_identity_t<T> least, std::type_identity_t<T> most) {
    get(value);
    require(value >= least && value <= most);
  }
  // UTF-8 of at most `most` bytes.
  void text(std::string& value, std::size_t most = kNoBound) {
    const std::string_view bytes = in_.bytes();
    if (bytes.size() > most || !is_utf8(bytes)) in_.fail();
    else value = bytes;
  }
  // Not negative, and far from where adding two of them overflows.
  void time(std::chrono::milliseconds& value) {
    const std::uint64_t count = in_.u64();
    if (count > (1ull << 62)) in_.fail();
    else value = std::chrono::milliseconds(static_cast<std::int64_t>(count));
  }
  // A bool, and the value if it is true.
  template <class T>
  void optional(std::optional<T>& value) {
    bool present = false;
    get(present);
    if (present) get(value.emplace());
  }
  // A bool and a number, which is 0 if the bool is false.
  template <class T>
  void padded(std::optional<T>& value) {
    bool present = false;
    T number{};
    get(present);
    get(number);
    if (present) value = number;
    else require(number == T{});
  }
  // A count of the type Count, at most `most`, and that many elements; `each` visits one.
  template <class Count, class T, class Each>
  void list(std::vector<T>& values, std::size_t most, Each each) {
    Count count = 0;
    get(count);
    require(count <= most);
    for (; count > 0 && !in_.failed(); --count) each(values.emplace_back());
  }
  template <class... T>
  void fields_of(std::variant<T...>& value, std::uint8_t kind) {
    const auto read = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((kind == I && (get(value.template emplace<I>()), true)) || ...);
    };
    require(read(std::index_sequence_for<T...>{}));
  }
  template <class... T>
  void variant(std::variant<T...>& value) {
    const std::uint8_t kind = in_.u8();
    if (!in_.failed()) fields_of(value, kind);
  }
  // What no single bound says. A message for which it is false is refused.
  void require(bool condition) {
    if (!condition) in_.fail();
  }

  Reader& raw() { return in_; }
  bool failed() const { return in_.failed(); }
  bool complete() const { return in_.complete(); }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (std::same_as<T, bool>) {
      const std::uint8_t number = in_.u8();
      require(number <= 1);
      value = number == 1;
    } else if constexpr (std::integral<T>) {
      value = in_.number<T>();
    } else if constexpr (std::same_as<T, std::string>) {
      value = in_.bytes();
    } else if constexpr (Alternatives<T>) {
      variant(value);
    } else {
      visit(*this, value);
    }
  }
  Reader in_;
};

// A whole message that is one struct or variant.
template <class T>
std::string pack(const T& message) {
  FieldWriter out;
  out(message);
  return out.take();
}

// `invalid_argument` and "malformed `what`" unless the bytes are exactly the message's fields, and at
// most `most`.
template <class T>
Result<T> unpack(std::string_view bytes, std::string_view what, std::size_t most = kNoBound) {
  FieldReader in(bytes);
  Result<T> message{T{}};
  in(*message);
  if (!in.complete() || bytes.size() > most)
    return Error{Code::invalid_argument, "malformed " + std::string(what)};
  return message;
}

}  // namespace vitrine::wire
