// SPDX-License-Identifier: Apache-2.0
// The kinds of wall that a session may be put behind, and what one kind can offer.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace vitrine {

enum class IsolationKind : std::uint8_t {
  process = 0,  // a forked interpreter in namespaces of its own
  wasm = 1,     // WebAssembly in a narrower jail
  vm = 2,       // a virtual machine
};
inline constexpr std::uint8_t kIsolations = 3;

// Names are the API's: `capabilities` in /v1/info.
enum class Capability : std::uint8_t {
  packages,
  environments,
  display,
  network,
  recordings,
  files,
  fork,  // a copy of a live session
};
inline constexpr std::array kAllCapabilities{
    Capability::packages,   Capability::environments, Capability::display, Capability::network,
    Capability::recordings, Capability::files,        Capability::fork};

class Capabilities {
 public:
  constexpr Capabilities(std::initializer_list<Capability> all = {}) {
    for (const Capability one : all) add(one);
  }
  constexpr void add(Capability one) { bits_ |= bit(one); }
  constexpr bool has(Capability one) const { return (bits_ & bit(one)) != 0; }
  constexpr bool operator==(const Capabilities&) const = default;

  // One bit for each capability, in their order: as the wire has them.
  constexpr std::uint32_t bits() const { return bits_; }
  static constexpr bool are_known(std::uint32_t bits) {
    return bits >> kAllCapabilities.size() == 0;
  }
  static constexpr Capabilities of_bits(std::uint32_t bits) {
    Capabilities made;
    made.bits_ = bits;
    return made;
  }

 private:
  static constexpr std::uint32_t bit(Capability one) {
    return std::uint32_t{1} << static_cast<std::uint8_t>(one);
  }
  std::uint32_t bits_ = 0;
};

std::string_view to_string(IsolationKind isolation);
std::string_view to_string(Capability capability);
std::optional<IsolationKind> isolation_from(std::string_view name);

}  // namespace vitrine
