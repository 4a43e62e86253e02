// SPDX-License-Identifier: Apache-2.0
#include "api/fields.h"

#include <cmath>
#include <stdexcept>

#include "api/text.h"

namespace vitrine::api {

namespace {

constexpr std::size_t kMaxDepth = 32;

// Boost.JSON keeps the last of two equal keys in silence; this looks for them first. It is only run
// on text that parsed, so it may trust the grammar.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(std::string_view text) : text_(text) {}

  std::optional<std::string> find() {
    value();
    return found_;
  }

 private:
  void space() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr) ++at_;
  }
  // With escapes as they stand.
  std::string_view string() {
    const std::size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::string_view inside = text_.substr(start, at_ - start);
    ++at_;
    return inside;
  }
  static std::string unescaped(std::string_view inside) {
    if (inside.find('\\') == std::string_view::npos) return std::string(inside);
    boost::system::error_code failed;
    const json::value parsed = json::parse("\"" + std::string(inside) + "\"", failed);
    return failed ? std::string(inside) : std::string(parsed.as_string());
  }
  void value() {
    space();
    if (at_ >= text_.size() || found_) return;
    if (text_[at_] == '{') return object();
    if (text_[at_] == '[') return array();
    if (text_[at_] == '"') return static_cast<void>(string());
    while (at_ < text_.size() && std::strchr(",]} \t\r\n", text_[at_]) == nullptr) ++at_;
  }
  void object() {
    std::set<std::string> keys;
    ++at_;
    for (space(); at_ < text_.size() && text_[at_] != '}' && !found_; space()) {
      if (text_[at_] == ',') {
        ++at_;
        continue;
      }
      std::string key = unescaped(string());
      if (!keys.insert(key).second) found_ = std::move(key);
      space();
      ++at_;  // ':'
      value();
    }
    ++at_;
  }
  void array() {
    ++at_;
    for (space(); at_ < text_.size() && text_[at_] != ']' && !found_; space()) {
      if (text_[at_] == ',') ++at_;
      else value();
    }
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> found_;
};

Problem bad_json(std::string detail) {
  return {.status = http::status::bad_request,
          .code = "invalid_json",
          .detail = std::move(detail),
          .remedy = "send one JSON object, UTF-8, without duplicate keys"};
}

std::string number_text(double value) {
  std::string text = json::serialize(json::value(value));
  if (value == std::floor(value) && std::abs(value) < 1e15)
    text = std::to_string(static_cast<long long>(value));
  return text;
}

}  // namespace

std::variant<json::object, Problem> parse_object(const std::string& text, EmptyBody empty) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    if (empty == EmptyBody::is_object) return json::object{};
    return bad_json("the body is empty");
  }
  json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::system::error_code failed;
  json::value value = json::parse(text, failed, json::storage_ptr(), options);
  if (failed) return bad_json("the body is not valid JSON: " + failed.message());
  if (!value.is_object()) return bad_json("the body is JSON, but not an object");
  if (auto key = DuplicateKeys(text).find())
    return bad_json("the key \"" + shown(*key) + "\" comes twice");
  return std::move(value.as_object());
}

const json::value* Fields::find(const char* name) {
  taken_.insert(name);
  const json::value* value = object_.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Field& Fields::described(const char* name, FieldType type) const {
  for (const Schema* schema : schemas_)
    if (const Field* field = schema->find(name); field != nullptr && field->type == type)
      return *field;
  throw std::logic_error("no table has the field " + full_name(name));
}

std::set<std::string, std::less<>> Fields::known() const {
  std::set<std::string, std::less<>> names = taken_;
  for (const Schema* schema : schemas_)
    for (const Field& field : schema->fields) names.emplace(field.name);
  return names;
}

std::optional<std::string> Fields::text(const char* name) {
  return text(name, described(name, FieldType::text).most);
}

std::optional<double> Fields::number(const char* name) {
  const Field& field = described(name, FieldType::number);
  return number(name, field.low, field.high);
}

std::optional<std::uint64_t> Fields::whole(const char* name) {
  const Field& field = described(name, FieldType::whole);
  return whole(name, field.least, field.most);
}

std::optional<std::string> Fields::choice(const char* name) {
  const Field& field = described(name, FieldType::choice);
  return choice(name, {field.words.begin(), field.words.end()});
}

std::vector<std::string> Fields::list(const char* name, const std::string& example) {
  const Field& field = described(name, FieldType::texts);
  std::vector<std::string> out;
  const json::array* given = array(name);
  if (given == nullptr) return out;
  if (given->size() > field.most) {
    fail(name, "it names more than " + std::to_string(field.most), "name fewer");
    return out;
  }
  for (const json::value& one : *given) {
    if (!one.is_string() || one.as_string().size() > field.text_bytes) {
      fail(name, "it is not a list of names", "send it like " + example);
      return out;
    }
    out.emplace_back(one.as_string());
  }
  return out;
}

void Fields::fail(const char* name, const std::string& why, const std::string& remedy) {
  if (!problem_) problem_ = bad_field(full_name(name), why, remedy);
}

std::optional<std::string> Fields::text(const char* name, std::size_t limit) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    fail(name, "it is not a string", "send " + full_name(name) + " as a string");
    return std::nullopt;
  }
  const json::string& text = value->as_string();
  if (text.size() > limit) {
    fail(name, "it is longer than " + std::to_string(limit) + " bytes", "send less");
    return std::nullopt;
  }
  return std::string(text);
}

std::optional<double> Fields::number(const char* name, double least, double most) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->to_number<double>() : std::nan("");
  if (!(number >= least && number <= most)) {
    fail(name, "it is not a number from " + number_text(least) + " to " + number_text(most),
         "send a number in that range, or leave it out");
    return std::nullopt;
  }
  return number;
}

std::optional<std::uint64_t> Fields::whole(const char* name, std::uint64_t least,
                                           std::uint64_t most) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  boost::system::error_code failed;
  const auto number = value->is_number() ? value->to_number<std::uint64_t>(failed) : 0;
  if (!value->is_number() || failed || number < least || number > most) {
    fail(name,
         "it is not a whole number from " + std::to_string(least) + " to " + std::to_string(most),
         "send a whole number in that range, or leave it out");
    return std::nullopt;
  }
  return number;
}

std::optional<bool> Fields::flag(const char* name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) {
    fail(name, "it is neither true nor false", "send true or false");
    return std::nullopt;
  }
  return value->as_bool();
}

std::optional<std::map<std::string, std::string>> Fields::texts(const char* name) {
  const json::object* object = this->object(name);
  if (object == nullptr) return std::nullopt;
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : *object) {
    if (!value.is_string()) {
      fail(name, "the value of \"" + shown(key) + "\" is not a string", "send strings as values");
      return std::nullopt;
    }
    out[std::string(key)] = std::string(value.as_string());
  }
  return out;
}

const json::object* Fields::object(const char* name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->as_object();
  fail(name, "it is not an object", "send an object");
  return nullptr;
}

const json::array* Fields::array(const char* name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_array()) return &value->as_array();
  fail(name, "it is not an array", "send an array");
  return nullptr;
}

std::optional<std::string> Fields::choice(const char* name, const std::vector<std::string>& words) {
  std::optional<std::string> word = text(name, 64);
  if (!word) return std::nullopt;
  std::string list;
  for (const std::string& one : words) {
    if (one == *word) return word;
    list += (list.empty() ? "" : ", ") + one;
  }
  fail(name, "\"" + *word + "\" is not one of: " + list, "use one of these, or leave it out");
  return std::nullopt;
}

std::optional<Problem> Fields::problem() {
  if (problem_) return problem_;
  const std::set<std::string, std::less<>> all = known();
  for (const auto& [key, value] : object_)
    if (!all.contains(std::string_view(key))) {
      std::string list;
      for (const std::string& one : all) list += (list.empty() ? "" : ", ") + one;
      problem_ = bad_field(full_name(shown(key)), "there is no such field",
                           "remove it or correct its name; known here: " + list);
      return problem_;
    }
  return std::nullopt;
}

}  // namespace vitrine::api
