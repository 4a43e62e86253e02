// SPDX-License-Identifier: Apache-2.0
// Reading JSON bodies strictly: known fields, right types, sane ranges, and an error that names the
// field, what was wrong and what to send instead. An unknown field is an error, so typos are caught.
//
// Trust: bodies are hostile. Depth is at most 32, duplicate keys and text that is not well-formed
// UTF-8 (lone surrogates too) are refused.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "api/problem.h"
#include "api/schema.h"

namespace vitrine::api {

namespace json = boost::json;

// An object, or why the text is none. "" counts as {} where `empty` says so.
enum class EmptyBody { is_object, is_error };
std::variant<json::object, Problem> parse_object(const std::string& text, EmptyBody empty);

// Takes fields out of an object; the first mistake is kept. Ask problem() after the last field.
//
// What a field may be is in the tables of api/schemas.h: name the table with use(), then take fields by
// their names alone. Taking one that no table has is a mistake of ours, and throws std::logic_error.
class Fields {
 public:
  Fields(const json::object& object, std::string prefix = "")
      : object_(object), prefix_(std::move(prefix)) {}

  // The fields of this table are known from now on; an object may have those of several.
  void use(const Schema& schema) { schemas_.push_back(&schema); }
  std::optional<std::string> text(const char* name);
  std::optional<double> number(const char* name);
  std::optional<std::uint64_t> whole(const char* name);
  std::optional<std::string> choice(const char* name);
  std::vector<std::string> list(const char* name, const std::string& example);

  // For bounds that are not known before the server runs.
  std::optional<std::string> text(const char* name, std::size_t limit);
  std::optional<double> number(const char* name, double least, double most);
  std::optional<std::uint64_t> whole(const char* name, std::uint64_t least, std::uint64_t most);
  std::optional<bool> flag(const char* name);
  std::optional<std::map<std::string, std::string>> texts(const char* name);
  const json::object* object(const char* name);
  const json::array* array(const char* name);
  // One of the words given.
  std::optional<std::string> choice(const char* name, const std::vector<std::string>& words);

  void fail(const char* name, const std::string& why, const std::string& remedy);
  // A mistake found in a part of this object.
  void adopt(Problem problem) {
    if (!problem_) problem_ = std::move(problem);
  }
  // The first mistake; then also any field that nobody asked for.
  std::optional<Problem> problem();
  bool failed() const { return problem_.has_value(); }
  std::string full_name(std::string_view name) const { return prefix_ + std::string(name); }

 private:
  const json::value* find(const char* name);
  const Field& described(const char* name, FieldType type) const;
  std::set<std::string, std::less<>> known() const;

  const json::object& object_;
  std::string prefix_;
  std::vector<const Schema*> schemas_;
  std::set<std::string, std::less<>> taken_;
  std::optional<Problem> problem_;
};

}  // namespace vitrine::api
