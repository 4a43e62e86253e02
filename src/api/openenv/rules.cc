// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/rules.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <span>

namespace vitrine::api::openenv {

namespace json = boost::json;

namespace {

struct Rule {
  std::string_view code_matches = {};  // literals and \s+ only: see found()
  std::optional<std::size_t> code_length_at_most = {};
  std::optional<bool> parses = {};
  double add = 0;
};

struct Group {
  bool first_only = false;
  std::span<const Rule> rules;
};

constexpr std::array kSuspicious{
    Rule{.code_matches = R"(import\s+os)", .add = -1.0},
    Rule{.code_matches = R"(import\s+subprocess)", .add = -1.0},
    Rule{.code_matches = R"(eval\()", .add = -1.0},
    Rule{.code_matches = R"(exec\()", .add = -1.0},
    Rule{.code_matches = R"(__import__)", .add = -1.0},
    Rule{.code_matches = R"(open\()", .add = -1.0},
};
constexpr std::array kForm{
    Rule{.code_length_at_most = 100, .add = 0.1},
    Rule{.parses = false, .add = -0.2},
};
constexpr std::array kGroups{
    Group{.first_only = true, .rules = kSuspicious},
    Group{.first_only = false, .rules = kForm},
};

// Code points that Python's str.isspace() and its regular expressions' \s take for space.
bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The bytes of the space at the beginning of `text`; 0 = there is none. No space has more than three.
std::size_t space_at(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) -> char32_t { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return is_space(byte(0)) ? 1 : 0;
  if ((byte(0) & 0xE0) == 0xC0 && text.size() >= 2)
    return is_space(((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F)) ? 2 : 0;
  if ((byte(0) & 0xF0) == 0xE0 && text.size() >= 3)
    return is_space(((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F)) ? 3 : 0;
  return 0;
}

std::string_view stripped(std::string_view text) {
  while (const std::size_t size = space_at(text)) text.remove_prefix(size);
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && continues(text[last])) --last;
    if (space_at(text.substr(last)) == 0) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !continues(byte); }));
}

// re.search() for what the table's patterns are made of: literals, `\(` and the like, and `\s+` before
// something that is no space.
bool matches_here(std::string_view pattern, std::string_view text) {
  while (!pattern.empty()) {
    if (pattern.starts_with(R"(\s+)")) {
      if (space_at(text) == 0) return false;
      while (const std::size_t size = space_at(text)) text.remove_prefix(size);
      pattern.remove_prefix(3);
      continue;
    }
    if (pattern.front() == '\\') pattern.remove_prefix(1);
    if (!text.starts_with(pattern.front())) return false;
    pattern.remove_prefix(1);
    text.remove_prefix(1);
  }
  return true;
}

bool found(std::string_view pattern, std::string_view text) {
  const std::string_view literal = pattern.substr(0, pattern.find('\\'));
  for (std::size_t at = text.find(literal); at != text.npos; at = text.find(literal, at + 1))
    if (matches_here(pattern, text.substr(at))) return true;
  return false;
}

// Whether the session may have changed it on the way to the parser, see runtime/vitrine_runtime/transform.py.
// Rather too often than not: then a Python decides.
bool may_be_transformed(std::string_view code) {
  if (code.find("<>") != code.npos) return true;  // valid after a certain future statement
  const auto blank = [](char c) { return static_cast<unsigned char>(c - 0x21) >= 0x5E; };
  bool first = true;
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    std::string_view line = code.substr(0, end);
    code.remove_prefix(std::min(end + 1, code.size()));
    const bool indented = !line.empty() && blank(line.front());
    while (!line.empty() && blank(line.front())) line.remove_prefix(1);
    while (!line.empty() && blank(line.back())) line.remove_suffix(1);
    if (line.empty()) continue;
    if (std::exchange(first, false) && indented) return true;
    if (line.front() == '!' || line.front() == '%' || line.front() == '?' || line.back() == '?')
      return true;
    for (const std::string_view tool : {"pip", "conda", "uv"})
      if (line.starts_with(tool)) return true;
    for (std::size_t at = line.find('='); at != line.npos; at = line.find('=', at + 1)) {
      std::string_view rest = line.substr(at + 1);
      while (!rest.empty() && blank(rest.front())) rest.remove_prefix(1);
      if (rest.starts_with('!') || rest.starts_with('%')) return true;
    }
  }
  return false;
}

// What Python may raise for code that it cannot parse.
bool may_come_of_parsing(std::string_view error) {
  constexpr std::array<std::string_view, 10> kNames{"",
                                                    "SyntaxError",
                                                    "IndentationError",
                                                    "TabError",
                                                    "ValueError",
                                                    "MemoryError",
                                                    "RecursionError",
                                                    "OverflowError",
                                                    "SystemError",
                                                    "UnicodeEncodeError"};
  return std::ranges::find(kNames, error) != kNames.end();
}

// None: only a Python can tell.
std::optional<bool> applies(const Rule& rule, const Judged& judged) {
  if (!rule.code_matches.empty() && !found(rule.code_matches, judged.code)) return false;
  if (rule.code_length_at_most && characters(stripped(judged.code)) > *rule.code_length_at_most)
    return false;
  if (!rule.parses) return true;
  const std::optional<bool> known = parses(judged);
  if (!known) return std::nullopt;
  return *known == *rule.parses;
}

}  // namespace

std::optional<bool> parses(const Judged& judged) {
  if (judged.code.size() > kMaxJudgedCode) return std::nullopt;
  const bool own_parser =
      judged.policy != Policy::smolagents;  // else its errors have its own names
  const bool ran =
      judged.outcome == Outcome::ok ||
      (own_parser && judged.outcome == Outcome::exception && !may_come_of_parsing(judged.error));
  if (!ran || may_be_transformed(judged.code)) return std::nullopt;
  return true;
}

std::optional<double> openenv_reward(const Judged& judged) {
  if (judged.code.size() > kMaxJudgedCode) return std::nullopt;
  double total = 0;
  for (const Group& group : kGroups) {
    double part = 0;
    for (const Rule& rule : group.rules) {
      const std::optional<bool> holds = applies(rule, judged);
      if (!holds) return std::nullopt;
      if (!*holds) continue;
      part += rule.add;
      if (group.first_only) break;
    }
    total += part;
  }
  return total;
}

std::string openenv_rules() {
  json::array groups;
  for (const Group& group : kGroups) {
    json::array rules;
    for (const Rule& rule : group.rules) {
      json::object tests;
      if (!rule.code_matches.empty()) tests["code_matches"] = rule.code_matches;
      if (rule.code_length_at_most) tests["code_length_at_most"] = *rule.code_length_at_most;
      if (rule.parses) tests["parses"] = *rule.parses;
      rules.push_back(json::object{{"if", std::move(tests)}, {"add", rule.add}});
    }
    groups.push_back(json::object{{"first_only", group.first_only}, {"rules", std::move(rules)}});
  }
  return json::serialize(json::object{{"groups", std::move(groups)}});
}

}  // namespace vitrine::api::openenv
