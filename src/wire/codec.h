// SPDX-License-Identifier: Apache-2.0
// Little-endian, bounded encoding of values into messages.
//
// A Reader never reads beyond its bytes and never allocates more than they hold; after the first
// mistake every later read gives an empty value and failed() stays true, so a decoder reads all its
// fields and asks once at the end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace vitrine::wire {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

class Writer {
 public:
  Writer& u8(std::uint8_t value) { return put(&value, 1); }
  Writer& u16(std::uint16_t value) { return put(&value, 2); }
  Writer& u32(std::uint32_t value) { return put(&value, 4); }
  Writer& u64(std::uint64_t value) { return put(&value, 8); }
  Writer& i32(std::int32_t value) { return u32(static_cast<std::uint32_t>(value)); }
  // u32 length, then the bytes.
  Writer& bytes(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    return put(value.data(), value.size());
  }
  template <class T>
  Writer& number(T value) {
    return put(&value, sizeof value);
  }
  std::string take() { return std::move(out_); }

 private:
  Writer& put(const void* data, std::size_t size) {
    out_.append(static_cast<const char*>(data), size);
    return *this;
  }
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  // A view into the message: copy it if it must live longer.
  std::string_view bytes() {
    const std::uint32_t size = u32();
    if (failed_ || size > rest_.size()) return fail(), std::string_view{};
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  std::string text() { return std::string(bytes()); }

  template <class T>
  T number() {
    T value{};
    if (rest_.size() < sizeof value) return fail(), T{};
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }

  void fail() {
    failed_ = true;
    rest_ = {};
  }
  bool failed() const { return failed_; }
  // All fields were read, and nothing is left over.
  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace vitrine::wire
