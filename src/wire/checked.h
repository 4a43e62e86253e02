// SPDX-License-Identifier: Apache-2.0
// Fields that are refused while they are read: a value out of its set makes the Reader fail.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "wire/codec.h"
#include "wire/messages.h"

namespace vitrine::wire {

// An enum that counts from 0 to `last`.
template <class E>
E read_enum(Reader& in, E last) {
  const std::uint8_t value = in.u8();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return in.failed() ? E{} : E{value};
}

inline bool read_bool(Reader& in) {
  const std::uint8_t value = in.u8();
  if (value > 1) in.fail();
  return value == 1;
}

// UTF-8 of at most `limit` bytes.
inline std::string read_text(Reader& in, std::size_t limit) {
  const std::string_view text = in.bytes();
  if (text.size() > limit || !is_utf8(text)) in.fail();
  return in.failed() ? std::string() : std::string(text);
}

// One of a variant's structs, each with `static T read(Reader&)`. Its place in the variant is its
// number on the wire: append, never reorder.
template <class V, std::size_t I = 0>
V read_variant(Reader& in, std::uint8_t kind) {
  if constexpr (I < std::variant_size_v<V>) {
    if (kind == I) return V(std::in_place_index<I>, std::variant_alternative_t<I, V>::read(in));
    return read_variant<V, I + 1>(in, kind);
  } else {
    in.fail();
    return V{};
  }
}

template <class V>
V read_variant(Reader& in) {
  const std::uint8_t kind = in.u8();
  return in.failed() ? V{} : read_variant<V>(in, kind);
}

// Each struct has `void write(Writer&) const`.
template <class V>
void write_variant(Writer& out, const V& value) {
  static_assert(std::variant_size_v<V> <= std::numeric_limits<std::uint8_t>::max());
  out.u8(static_cast<std::uint8_t>(value.index()));
  std::visit([&](const auto& one) { one.write(out); }, value);
}

}  // namespace vitrine::wire
