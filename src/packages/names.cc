// SPDX-License-Identifier: Apache-2.0
#include "packages/names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vitrine::packages {

namespace {

using Row = std::pair<std::string_view, std::string_view>;  // module, distribution

constexpr auto kTable = std::to_array<Row>({
#include "packages/table.inc"
});

constexpr std::size_t kMostSuggestions = 5;
constexpr std::size_t kLong = 8;   // from this length on two letters may differ
constexpr std::size_t kShort = 4;  // shorter names are not corrected

std::size_t tolerance(std::string_view name) {
  if (name.size() < kShort) return 0;
  return name.size() < kLong ? 1 : 2;
}

// The closest name, if it is the only one at that distance.
std::string closest(std::string_view name, const Inventory& inventory) {
  std::size_t best = tolerance(name) + 1;
  std::string found;
  bool alone = false;
  const auto look = [&](std::string_view other) {
    if (other.starts_with('_') || other.size() < kShort) return;
    const std::size_t far = distance(name, other, tolerance(name));
    if (far < best) {
      best = far;
      found = other;
      alone = true;
    } else if (far == best && far <= tolerance(name)) {
      alone = alone && found == other;
    }
  };
  for (const auto& other : inventory.standard) look(other);
  for (const auto& [other, package] : inventory.image) look(other);
  return alone ? found : "";
}

std::vector<std::string> similar(std::string_view name, const Inventory& inventory) {
  std::vector<std::pair<std::size_t, std::string>> near;
  const auto look = [&](std::string_view other) {
    const std::size_t far = distance(name, other, 2);
    const bool begins = name.size() >= kShort && other.starts_with(name);
    if (far <= 2 || begins) near.emplace_back(std::min<std::size_t>(far, 2), other);
  };
  for (const auto& other : inventory.standard) look(other);
  for (const auto& [other, package] : inventory.image) look(other);
  for (const auto& [other, package] : kTable) look(other);
  std::ranges::sort(near);
  std::vector<std::string> names;
  for (auto& [far, other] : near)
    if (names.size() < kMostSuggestions && std::ranges::find(names, other) == names.end() &&
        !other.starts_with('_'))
      names.push_back(std::move(other));
  return names;
}

}  // namespace

bool is_module_name(std::string_view name) {
  if (name.empty() || name.size() > 100) return false;
  bool begins = true;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (c == '.' ? begins : !letter && (!digit || begins)) return false;
    begins = c == '.';
  }
  return !begins;
}

std::string_view package_of(std::string_view module) {
  const auto found = std::ranges::lower_bound(kTable, module, {}, &Row::first);
  return found != kTable.end() && found->first == module ? found->second : std::string_view{};
}

std::size_t table_size() { return kTable.size(); }

std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > most || b.size() > 100) return most + 1;
  std::vector<std::size_t> before2(b.size() + 1);
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) before[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({before[j] + 1, now[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before2[j - 2] + 1);
    }
    std::swap(before2, before);
    std::swap(before, now);
  }
  return std::min(before[b.size()], most + 1);
}

Import resolve_import(std::string_view name, const Inventory& inventory) {
  const std::string_view top = name.substr(0, name.find('.'));
  const std::string_view below = name.substr(top.size());
  Import out{
      .meaning = Meaning::unknown, .module = std::string(name), .package = {}, .suggestions = {}};
  if (inventory.standard.contains(top)) {
    out.meaning = Meaning::standard;
  } else if (inventory.image.contains(top)) {
    out.meaning = Meaning::in_image;
  } else if (const std::string_view package = package_of(top); !package.empty()) {
    out.meaning = Meaning::package;
    out.package = package;
  } else if (std::string right = closest(top, inventory); !right.empty()) {
    out.meaning = Meaning::corrected;
    out.module = right + std::string(below);
  } else {
    out.suggestions = similar(top, inventory);
  }
  return out;
}

}  // namespace vitrine::packages
