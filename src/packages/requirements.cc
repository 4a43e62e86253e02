// SPDX-License-Identifier: Apache-2.0
#include "packages/requirements.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace vitrine::packages {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_plain(char c) { return is_letter(c) || is_digit(c); }
bool is_separator(char c) { return c == '-' || c == '_' || c == '.'; }

constexpr std::array<std::string_view, 8> kOperators{"===", "==", "~=", "!=", "<=", ">=", "<", ">"};

Error refused(std::string_view text, const std::string& why, const std::string& remedy) {
  return Error{.code = Code::invalid_argument,
               .message = "the requirement " + quoted(text) + " " + why,
               .remedy = remedy};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  template <class Test>
  std::string_view take_while(Test test) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), test);
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  // Letters, digits and separators between them; "" if it is none.
  std::string_view take_name() {
    const std::string_view name = take_while([](char c) { return is_plain(c) || is_separator(c); });
    return !name.empty() && is_plain(name.front()) && is_plain(name.back()) ? name
                                                                            : std::string_view{};
  }
  std::string_view take_operator() {
    for (std::string_view one : kOperators)
      if (take(one)) return one;
    return {};
  }
  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Common mistakes, each with a message of its own.
std::optional<Error> other_kinds(std::string_view text) {
  const std::string remedy = "name a package of the index and its versions: \"polars==1.*\"";
  if (text.empty()) return refused(text, "is empty", remedy);
  if (text.size() > kMaxRequirement) return refused(text, "is longer than 200 bytes", remedy);
  for (char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      return refused(text, "contains a character that is not ASCII", remedy);
  if (text.front() == '-')
    return refused(text, "is an option", "options are the operator's; " + remedy);
  if (text.find("://") != std::string_view::npos || text.find('@') != std::string_view::npos)
    return refused(text, "names a URL", "packages come from the configured index; " + remedy);
  if (text.find('/') != std::string_view::npos || text.find('\\') != std::string_view::npos ||
      text.front() == '.' || text.front() == '~')
    return refused(text, "names a path", "packages come from the configured index; " + remedy);
  if (text.find(';') != std::string_view::npos)
    return refused(text, "has a marker", "remove the ';' and everything after it");
  return std::nullopt;
}

Status parse_extras(Parser& in, std::string_view text, Requirement& out) {
  std::set<std::string> extras;
  do {
    in.skip_spaces();
    const std::string_view extra = in.take_name();
    if (extra.empty())
      return refused(text, "has an extra without a name", "write it like httpx[http2]");
    extras.insert(normalised(extra));
    in.skip_spaces();
  } while (in.take(","));
  if (!in.take("]")) return refused(text, "has extras without an end", "close them with ]");
  out.extras.assign(extras.begin(), extras.end());
  return ok();
}

Status parse_versions(Parser& in, std::string_view text, Requirement& out) {
  const std::string remedy = "write versions like ==1.*, >=2,<3 or ~=1.4";
  do {
    in.skip_spaces();
    const std::string_view op = in.take_operator();
    if (op.empty())
      return refused(text, "is not understood from " + quoted(in.rest()) + " on", remedy);
    in.skip_spaces();
    const std::string_view version = in.take_while(
        [](char c) { return is_plain(c) || is_separator(c) || c == '*' || c == '+' || c == '!'; });
    if (version.empty() || !is_plain(version.front()))
      return refused(text, "has no version after " + std::string(op), remedy);
    out.versions.push_back(std::string(op) + std::string(version));
    in.skip_spaces();
  } while (in.take(","));
  if (!in.at_end())
    return refused(text, "is not understood from " + quoted(in.rest()) + " on", remedy);
  return ok();
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out = "\"";
  for (char c : text.substr(0, kShown))
    out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f ? '?' : c;
  return out + (text.size() > kShown ? "...\"" : "\"");
}

std::string normalised(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (!is_separator(c)) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!out.ends_with('-')) out += '-';
  }
  return out;
}

std::string Requirement::text() const {
  std::string out = name;
  for (std::size_t i = 0; i < extras.size(); ++i) out += (i == 0 ? "[" : ",") + extras[i];
  if (!extras.empty()) out += "]";
  for (std::size_t i = 0; i < versions.size(); ++i) out += (i == 0 ? "" : ",") + versions[i];
  return out;
}

Result<Requirement> parse_requirement(std::string_view text) {
  if (auto error = other_kinds(text)) return std::move(*error);
  Parser in(text);
  in.skip_spaces();
  Requirement out;
  const std::string_view name = in.take_name();
  if (name.empty())
    return refused(text, "does not begin with a package's name", "begin with letters and digits");
  out.name = normalised(name);
  in.skip_spaces();
  if (in.take("["))
    if (Status s = parse_extras(in, text, out); !s) return std::move(s.error());
  in.skip_spaces();
  if (!in.at_end())
    if (Status s = parse_versions(in, text, out); !s) return std::move(s.error());
  return out;
}

}  // namespace vitrine::packages
