// SPDX-License-Identifier: Apache-2.0
#include "api/schema.h"

#include <cmath>

namespace vitrine::api {

namespace json = boost::json;

const Field* Schema::find(std::string_view field) const {
  for (const Field& one : fields)
    if (one.name == field) return &one;
  return nullptr;
}

namespace row {

Field text(std::string_view name, std::size_t most, std::string_view otherwise,
           std::string_view help) {
  return {
      .name = name, .type = FieldType::text, .help = help, .otherwise = otherwise, .most = most};
}
Field number(std::string_view name, double low, double high, std::string_view otherwise,
             std::string_view help) {
  return {.name = name,
          .type = FieldType::number,
          .help = help,
          .otherwise = otherwise,
          .low = low,
          .high = high};
}
Field whole(std::string_view name, std::uint64_t least, std::uint64_t most,
            std::string_view otherwise, std::string_view help) {
  return {.name = name,
          .type = FieldType::whole,
          .help = help,
          .otherwise = otherwise,
          .least = least,
          .most = most};
}
Field flag(std::string_view name, std::string_view otherwise, std::string_view help) {
  return {.name = name, .type = FieldType::flag, .help = help, .otherwise = otherwise};
}
Field choice(std::string_view name, std::vector<std::string_view> words, std::string_view otherwise,
             std::string_view help) {
  return {.name = name,
          .type = FieldType::choice,
          .help = help,
          .otherwise = otherwise,
          .words = std::move(words)};
}
Field texts(std::string_view name, std::uint64_t least, std::uint64_t most, std::size_t bytes,
            std::string_view help) {
  return {.name = name,
          .type = FieldType::texts,
          .help = help,
          .least = least,
          .most = most,
          .text_bytes = bytes};
}
Field map(std::string_view name, std::uint64_t most, std::string_view otherwise,
          std::string_view help) {
  return {.name = name, .type = FieldType::map, .help = help, .otherwise = otherwise, .most = most};
}
Field object(std::string_view name, const Schema* of, std::string_view otherwise,
             std::string_view help) {
  return {.name = name, .type = FieldType::object, .help = help, .otherwise = otherwise, .of = of};
}
Field list(std::string_view name, const Schema* of, std::string_view help) {
  return {.name = name, .type = FieldType::list, .help = help, .of = of};
}
Field any(std::string_view name, std::string_view help) {
  return {.name = name, .type = FieldType::any, .help = help};
}
Field required(Field field) {
  field.presence = Presence::required;
  return field;
}
Field nullable(Field field) {
  field.presence = Presence::nullable;
  return field;
}
Field optional_nullable(Field field) {
  field.presence = Presence::optional_nullable;
  return field;
}

}  // namespace row

namespace {

std::string shown(double value) {
  if (value == std::floor(value)) return std::to_string(static_cast<long long>(value));
  return json::serialize(json::value(value));
}

// 2^63-1 is what people write instead of nineteen digits.
std::string shown(std::uint64_t value) {
  return value == INT64_MAX ? "2^63-1" : std::to_string(value);
}

std::string shown_bytes(std::uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes) + " bytes";
}

json::value reference(const Schema* of) {
  if (of == nullptr) return json::object{{"type", "object"}};
  return json::object{{"$ref", "#/components/schemas/" + std::string(of->name)}};
}

json::object described(const Field& field) {
  switch (field.type) {
    case FieldType::text: {
      json::object out{{"type", "string"}};
      if (field.most > 0) out["maxLength"] = field.most;
      return out;
    }
    case FieldType::number: {
      json::object out{{"type", "number"}};
      if (field.high > field.low) out["minimum"] = field.low, out["maximum"] = field.high;
      return out;
    }
    case FieldType::whole: {
      json::object out{{"type", "integer"}};
      if (field.most > 0) out["minimum"] = field.least, out["maximum"] = field.most;
      return out;
    }
    case FieldType::flag: return {{"type", "boolean"}};
    case FieldType::choice: {
      json::array words;
      for (std::string_view word : field.words) words.emplace_back(word);
      return {{"type", "string"}, {"enum", std::move(words)}};
    }
    case FieldType::texts: {
      json::object item{{"type", "string"}};
      if (field.text_bytes > 0) item["maxLength"] = field.text_bytes;
      json::object out{{"type", "array"}, {"items", std::move(item)}};
      if (field.least > 0) out["minItems"] = field.least;
      if (field.most > 0) out["maxItems"] = field.most;
      return out;
    }
    case FieldType::map: {
      json::object out{{"type", "object"},
                       {"additionalProperties", json::object{{"type", "string"}}}};
      if (field.most > 0) out["maxProperties"] = field.most;
      return out;
    }
    case FieldType::object: return reference(field.of).as_object();
    case FieldType::list: return {{"type", "array"}, {"items", reference(field.of)}};
    case FieldType::any: return {};
  }
  return {};
}

json::object property(const Field& field) {
  json::object out = described(field);
  if (field.presence == Presence::nullable || field.presence == Presence::optional_nullable)
    out = {{"anyOf", json::array{std::move(out), json::object{{"type", "null"}}}}};
  if (!field.help.empty()) out["description"] = field.help;
  return out;
}

std::string type_for_people(const Field& field) {
  switch (field.type) {
    case FieldType::text:
      return field.most > 0 ? "string, at most " + shown_bytes(field.most) : "string";
    case FieldType::number:
      return field.high > field.low ? shown(field.low) + " to " + shown(field.high) : "number";
    case FieldType::whole:
      return field.most > 0 ? shown(field.least) + " to " + shown(field.most) : "integer";
    case FieldType::flag: return "boolean";
    case FieldType::choice: {
      std::string words;
      for (std::string_view word : field.words)
        words += (words.empty() ? "`\"" : ", `\"") + std::string(word) + "\"`";
      return words;
    }
    case FieldType::texts:
      return field.most > 0 ? "array of at most " + shown(field.most) + " strings"
                            : "array of strings";
    case FieldType::map: return "object of strings";
    case FieldType::object: return "object";
    case FieldType::list: return "array of objects";
    case FieldType::any: return "any";
  }
  return "";
}

}  // namespace

json::object json_schema(const Schema& schema) {
  json::object properties;
  json::array always;
  for (const Field& field : schema.fields) {
    properties[field.name] = property(field);
    if (field.presence == Presence::required || field.presence == Presence::nullable)
      always.emplace_back(field.name);
  }
  json::object out{{"type", "object"}, {"properties", std::move(properties)}};
  if (schema.kind == Schema::Kind::request) out["additionalProperties"] = false;
  if (!always.empty()) out["required"] = std::move(always);
  return out;
}

std::string markdown_table(const Schema& schema) {
  std::string out = schema.kind != Schema::Kind::answer
                        ? "| Field | Type | Default | |\n|---|---|---|---|\n"
                        : "| Field | Type | |\n|---|---|---|\n";
  for (const Field& field : schema.fields) {
    const bool needed = field.presence == Presence::required;
    out += "| `" + std::string(field.name) + "` | " + type_for_people(field);
    if (field.presence == Presence::nullable || field.presence == Presence::optional_nullable)
      out += " or null";
    if (schema.kind != Schema::Kind::answer)
      out += " | " + (needed                    ? "**required**"
                      : field.otherwise.empty() ? std::string("none")
                                                : std::string(field.otherwise));
    out += " | " + std::string(field.help) + " |\n";
  }
  return out;
}

}  // namespace vitrine::api
