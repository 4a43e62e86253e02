// SPDX-License-Identifier: Apache-2.0
#include "api/schema.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "api/fields.h"
#include "api/schemas.h"

namespace vitrine::api {
namespace {

using namespace row;

std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// `text` with the table of each schema between "<!-- table: NAME -->" and "<!-- end -->".
std::string with_tables(const std::string& text) {
  std::string out = text;
  for (const Schema* schema : all_schemas()) {
    const std::string head = "<!-- table: " + std::string(schema->name) + " -->\n";
    const std::size_t at = out.find(head);
    if (at == std::string::npos) continue;
    const std::size_t end = out.find("<!-- end -->", at);
    if (end == std::string::npos) return "a table of " + std::string(schema->name) + " has no end";
    out.replace(at + head.size(), end - at - head.size(), markdown_table(*schema));
  }
  return out;
}

TEST(Schema, BecomesJsonSchemaWithItsBounds) {
  const Schema inner{.name = "Inner", .fields = {flag("on", "`false`", "")}};
  const Schema schema{
      .name = "Outer",
      .fields = {required(text("code", 10, "", "Python")), whole("seed", 0, 7, "none", ""),
                 number("cpus", 0.5, 2, "1", ""), choice("word", {"a", "b"}, "`\"a\"`", ""),
                 texts("names", 1, 3, 5, ""), object("inner", &inner, "", "")}};

  EXPECT_EQ(json_schema(schema), json::parse(R"({
    "type": "object", "additionalProperties": false, "required": ["code"],
    "properties": {
      "code": {"type": "string", "maxLength": 10, "description": "Python"},
      "seed": {"type": "integer", "minimum": 0, "maximum": 7},
      "cpus": {"type": "number", "minimum": 0.5, "maximum": 2.0},
      "word": {"type": "string", "enum": ["a", "b"]},
      "names": {"type": "array", "items": {"type": "string", "maxLength": 5},
                "minItems": 1, "maxItems": 3},
      "inner": {"$ref": "#/components/schemas/Inner"}}})"));
}

TEST(Schema, OfAnAnswerIsOpenAndKnowsNull) {
  const Schema schema{
      .name = "View",
      .kind = Schema::Kind::answer,
      .fields = {nullable(text("next", 0, "", "")), optional_nullable(text("picture", 0, "", ""))}};

  EXPECT_EQ(json_schema(schema), json::parse(R"({
    "type": "object", "required": ["next"],
    "properties": {"next": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                   "picture": {"anyOf": [{"type": "string"}, {"type": "null"}]}}})"));
}

TEST(Schema, OfARequestOfAnotherProtocolIsOpen) {
  const Schema schema{.name = "Call",
                      .kind = Schema::Kind::open_request,
                      .fields = {required(any("id", "of the call"))}};

  EXPECT_EQ(json_schema(schema), json::parse(R"({
    "type": "object", "required": ["id"], "properties": {"id": {"description": "of the call"}}})"));
}

TEST(Schema, IsATableForPeople) {
  const Schema schema{.name = "X",
                      .fields = {required(text("code", 8 << 20, "", "Python")),
                                 whole("seed", 0, INT64_MAX, "none", "fixes it")}};

  EXPECT_EQ(markdown_table(schema),
            "| Field | Type | Default | |\n|---|---|---|---|\n"
            "| `code` | string, at most 8 MiB | **required** | Python |\n"
            "| `seed` | 0 to 2^63-1 | none | fixes it |\n");
}

TEST(Schemas, HaveNamesOfTheirOwnAndFieldsOnce) {
  std::set<std::string_view> names;
  for (const Schema* schema : all_schemas()) {
    EXPECT_TRUE(names.insert(schema->name).second) << schema->name;
    std::set<std::string_view> fields;
    for (const Field& field : schema->fields)
      EXPECT_TRUE(fields.insert(field.name).second) << schema->name << "." << field.name;
  }
}

TEST(Fields, TakeTheirBoundsFromTheTable) {
  const Schema schema{.name = "X", .fields = {whole("n", 2, 3, "", ""), text("t", 1, "", "")}};
  const json::object given{{"n", 4}};
  Fields fields(given, "x.");
  fields.use(schema);

  fields.whole("n");

  ASSERT_TRUE(fields.problem());
  EXPECT_NE(fields.problem()->detail.find("from 2 to 3"), std::string::npos);
}

TEST(Fields, KnowAllOfTheTableAndRefuseTheRest) {
  const Schema schema{.name = "X", .fields = {flag("a", "", ""), flag("b", "", "")}};
  const json::object good{{"a", true}};
  const json::object bad{{"c", true}};
  Fields taken(good);
  taken.use(schema);
  Fields refused(bad);
  refused.use(schema);

  EXPECT_FALSE(taken.problem());
  ASSERT_TRUE(refused.problem());
  EXPECT_NE(refused.problem()->remedy.find("known here: a, b"), std::string::npos);
  EXPECT_THROW(taken.whole("a"), std::logic_error) << "it is no whole number";
  EXPECT_THROW(taken.text("d"), std::logic_error);
}

// Writes them with VITRINE_WRITE_DOCS=1.
TEST(ApiTables, StandInTheDocsAsTheyAre) {
  for (const char* page : {"/docs/api.md", "/docs/limits.md"}) {
    const std::string path = std::string(VITRINE_SOURCE_DIR) + page;
    const std::string text = slurp(path);
    const std::string right = with_tables(text);
    ASSERT_NE(text.find("<!-- table: "), std::string::npos) << page;
    if (std::getenv("VITRINE_WRITE_DOCS") != nullptr) std::ofstream(path) << right;
    else EXPECT_EQ(text, right) << "run VITRINE_WRITE_DOCS=1 api_test --gtest_filter=ApiTables.*";
  }
}

}  // namespace
}  // namespace vitrine::api
