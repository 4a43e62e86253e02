// SPDX-License-Identifier: Apache-2.0
// The fields of the API's JSON bodies, each described once. The same tables drive the strict parser
// (api/fields.h), the schemas of /openapi.json and the tables of docs/api.md.
//
// A request's schema is closed: a field that it does not name is refused. An answer's schema is open:
// clients must ignore fields that they do not know. So is a request of a protocol that is not ours and
// ignores them.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::api {

struct Schema;

enum class FieldType : std::uint8_t {
  text,
  number,
  whole,
  flag,
  choice,
  texts,
  map,
  object,
  list,
  any,  // any JSON value
};

enum class Presence : std::uint8_t {
  optional,  // a request may leave it out; an answer may lack it
  required,
  nullable,           // of an answer: always there, null where there is none
  optional_nullable,  // may be missing, and may be null
};

struct Field {
  std::string_view name;
  FieldType type = FieldType::text;
  std::string_view help;       // for people: one or two sentences
  std::string_view otherwise;  // the default, as a person reads it; "" = none
  Presence presence = Presence::optional;
  // text: bytes; texts, map, list: entries; most 0 = without bounds
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  double low = 0;  // number
  double high = 0;
  std::size_t text_bytes = 0;                // texts: of one
  std::vector<std::string_view> words = {};  // choice
  const Schema* of = nullptr;                // object, list; null = of any fields
};

struct Schema {
  enum class Kind : std::uint8_t { request, open_request, answer };

  std::string_view name;  // of the component in /openapi.json, and of the table in docs/api.md
  Kind kind = Kind::request;
  std::vector<Field> fields;

  // Null if there is no such field.
  const Field* find(std::string_view field) const;
};

// Rows of a table. The bounds are inclusive.
namespace row {
Field text(std::string_view name, std::size_t most, std::string_view otherwise,
           std::string_view help);
Field number(std::string_view name, double low, double high, std::string_view otherwise,
             std::string_view help);
Field whole(std::string_view name, std::uint64_t least, std::uint64_t most,
            std::string_view otherwise, std::string_view help);
Field flag(std::string_view name, std::string_view otherwise, std::string_view help);
Field choice(std::string_view name, std::vector<std::string_view> words, std::string_view otherwise,
             std::string_view help);
// An array of at most `most` strings, each of at most `bytes`.
Field texts(std::string_view name, std::uint64_t least, std::uint64_t most, std::size_t bytes,
            std::string_view help);
// An object whose values are strings.
Field map(std::string_view name, std::uint64_t most, std::string_view otherwise,
          std::string_view help);
Field object(std::string_view name, const Schema* of, std::string_view otherwise,
             std::string_view help);
Field list(std::string_view name, const Schema* of, std::string_view help);
Field any(std::string_view name, std::string_view help);
Field required(Field field);
Field nullable(Field field);
Field optional_nullable(Field field);
}  // namespace row

// JSON Schema (2020-12, as OpenAPI 3.1 has it). Named schemas of fields are references to components.
boost::json::object json_schema(const Schema& schema);
// Rows "| `name` | type | default | help |" under a head, with "\n" at the end.
std::string markdown_table(const Schema& schema);

}  // namespace vitrine::api
