// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/messages.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "model/environment.h"

namespace vitrine::api::openenv {

namespace {

constexpr std::size_t kMaxReply = 1'000'000;  // of the client's 1 MiB
constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxEcho = 200;
constexpr std::size_t kMaxMistakes = 20;

json::array at(const json::array& prefix, std::string_view key) {
  json::array where = prefix;
  where.emplace_back(key);
  return where;
}

Mistake missing(json::array where, const json::object& in) {
  return {"missing", std::move(where), "Field required", in, {}};
}

void read_positive(const json::object& object, const json::array& prefix, const char* key,
                   std::optional<double>& into, Mistakes& mistakes) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return;
  if (!value->is_number()) {
    mistakes.push_back(
        {"float_type", at(prefix, key), "Input should be a valid number", *value, {}});
  } else if (value->to_number<double>() <= 0) {
    mistakes.push_back({"greater_than", at(prefix, key), "Input should be greater than 0", *value,
                        json::object{{"gt", 0.0}}});
  } else {
    into = value->to_number<double>();
  }
}

void read_flag(const json::object& object, const json::array& prefix, const char* key, bool& into,
               Mistakes& mistakes) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return;
  if (value->is_bool()) into = value->as_bool();
  else
    mistakes.push_back(
        {"bool_type", at(prefix, key), "Input should be a valid boolean", *value, {}});
}

void read_options(const json::object& object, const json::array& prefix, ObservationOptions& into,
                  Mistakes& mistakes) {
  read_flag(object, prefix, "capture_screenshot", into.screenshot, mistakes);
  read_flag(object, prefix, "results", into.results, mistakes);
  read_flag(object, prefix, "usage", into.usage, mistakes);
}

// As Python writes a float: 0.1, -1.0.
std::string decimal(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  std::string out(text.begin(), end);
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_large(const json::value& value) {
  if (value.is_string()) return value.as_string().size() > kMaxEcho;
  return value.is_structured() && json::serialize(value).size() > 4 * kMaxEcho;
}

// As pydantic reads it: also from a text, a truth or a whole float.
std::variant<std::uint64_t, Mistake> read_seed(const json::value& seed, json::array where) {
  const auto wrong = [&](const char* type, const char* message) {
    return Mistake{type, std::move(where), message, seed, {}};
  };
  if (seed.is_uint64()) return seed.as_uint64();
  if (seed.is_bool()) return static_cast<std::uint64_t>(seed.as_bool());
  double number = 0;
  if (seed.is_string()) {
    const json::string& text = seed.as_string();
    const char* end = text.data() + text.size();
    std::int64_t whole = 0;
    if (text.empty() || std::from_chars(text.data(), end, whole).ptr != end)
      return wrong("int_parsing",
                   "Input should be a valid integer, unable to parse string as an integer");
    number = static_cast<double>(whole);
    if (whole >= 0) return static_cast<std::uint64_t>(whole);
  } else if (seed.is_int64()) {
    if (seed.as_int64() >= 0) return static_cast<std::uint64_t>(seed.as_int64());
    number = -1;
  } else if (seed.is_double()) {
    number = seed.as_double();
    if (!std::isfinite(number) || number != std::floor(number))
      return wrong("int_from_float",
                   "Input should be a valid integer, got a number with a fractional part");
  } else {
    return wrong("int_type", "Input should be a valid integer");
  }
  if (number < 0) {
    Mistake mistake = wrong("greater_than_equal", "Input should be greater than or equal to 0");
    mistake.context["ge"] = 0;
    return mistake;
  }
  return static_cast<std::uint64_t>(std::fmod(number, 9007199254740992.0));
}

std::string json_text(std::string_view text) { return json::serialize(json::string(text)); }

// The beginning and the end of a text, as much as fits into `size` bytes, cut between characters.
std::string shortened(const std::string& text, std::size_t size) {
  const auto is_inside = [&](std::size_t i) { return (text[i] & 0xC0) == 0x80; };
  std::size_t head = size / 2;
  while (head > 0 && is_inside(head)) --head;
  std::size_t tail = text.size() - size / 2;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return text.substr(0, head) + "\n[... " + std::to_string(tail - head) + " bytes left out ...]\n" +
         text.substr(tail);
}

// As JSON, in at most `limit` bytes or little more.
std::string quoted_within(const std::string& text, std::size_t limit) {
  std::string out = json_text(text);
  // What needs escapes grows up to sixfold: halving ends soon.
  for (std::size_t size = limit; out.size() > limit && size > 0; size /= 2)
    if (size < text.size()) out = json_text(shortened(text, size));
  return out;
}

}  // namespace

std::string brief(std::string_view text) {
  if (text.size() <= kMaxEcho) return std::string(text);
  std::size_t size = kMaxEcho;
  while (size > 0 && (text[size] & 0xC0) == 0x80) --size;
  return std::string(text.substr(0, size)) + "...";
}

json::array to_json(const Mistakes& mistakes) {
  json::array list;
  for (const Mistake& one : mistakes) {
    if (list.size() == kMaxMistakes) break;
    json::array where;
    for (const json::value& part : one.where)
      if (part.is_string()) where.emplace_back(brief(part.as_string()));
      else where.push_back(part);
    json::object item{{"type", one.type}, {"loc", std::move(where)}, {"msg", one.message}};
    if (!is_large(one.input)) item["input"] = one.input;
    else
      item["input"] = brief(one.input.is_string() ? std::string(one.input.as_string())
                                                  : json::serialize(one.input));
    if (!one.context.empty()) item["ctx"] = one.context;
    list.push_back(std::move(item));
  }
  return list;
}

std::variant<Action, Mistakes> read_action(const json::object& object) {
  static const std::set<std::string_view> kKnown{"code", "metadata", "capture_screenshot",
                                                 "render_timeout", "timeout_s"};
  Action action;
  Mistakes mistakes;
  const json::value* code = object.if_contains("code");
  if (code == nullptr) mistakes.push_back(missing({"code"}, object));
  else if (!code->is_string())
    mistakes.push_back({"string_type", {"code"}, "Input should be a valid string", *code, {}});
  else action.code = std::string(code->as_string());
  read_flag(object, {}, "capture_screenshot", action.capture_screenshot, mistakes);
  read_positive(object, {}, "render_timeout", action.render_timeout, mistakes);
  read_positive(object, {}, "timeout_s", action.timeout_s, mistakes);
  if (const json::value* metadata = object.if_contains("metadata"); metadata != nullptr) {
    if (metadata->is_object())
      read_options(metadata->as_object(), {"metadata"}, action.wishes, mistakes);
    else
      mistakes.push_back(
          {"dict_type", {"metadata"}, "Input should be a valid dictionary", *metadata, {}});
  }
  for (const auto& [key, value] : object)
    if (!kKnown.contains(std::string_view(key.data(), key.size())))
      mistakes.push_back(
          {"extra_forbidden", {json::string(key)}, "Extra inputs are not permitted", value, {}});
  if (!mistakes.empty()) return mistakes;
  return action;
}

// Of the ancestors' servers, and ours. A wish that cannot be met is never passed over in silence.
void read_session_wishes(const json::object& object, const json::array& prefix, Reset& reset,
                         Mistakes& mistakes) {
  if (const json::value* backend = object.if_contains("executor_backend");
      backend != nullptr && !backend->is_null()) {
    if (backend->is_string()) reset.policy = policy_from(backend->as_string());
    if (!reset.policy)
      mistakes.push_back({"literal_error",
                          at(prefix, "executor_backend"),
                          "Input should be 'native', 'restrictedpython' or 'smolagents'",
                          *backend,
                          {}});
  }
  const json::value* sdist = object.if_contains("allow_sdist");
  if (sdist != nullptr && sdist->is_bool()) reset.allow_sdist = sdist->as_bool();
  else if (sdist != nullptr && !sdist->is_null())
    mistakes.push_back(
        {"bool_type", at(prefix, "allow_sdist"), "Input should be a valid boolean", *sdist, {}});
  const json::value* environment = object.if_contains("environment");
  if (environment != nullptr && environment->is_string() &&
      environment->as_string().size() <= kMaxName)
    reset.environment = std::string(environment->as_string());
  else if (environment != nullptr && !environment->is_null())
    mistakes.push_back({"string_type",
                        at(prefix, "environment"),
                        "Input should be the name of an environment",
                        *environment,
                        {}});
  if (reset.environment == kPlainEnvironment) reset.environment.clear();
  const json::value* imports = object.if_contains("additional_imports");
  if (imports == nullptr || imports->is_null()) return;
  const json::array* list = imports->if_array();
  bool good = list != nullptr && list->size() <= 100;
  for (std::size_t i = 0; good && i < list->size(); ++i) {
    good = (*list)[i].is_string() && (*list)[i].as_string().size() <= kMaxName;
    if (good) reset.imports.emplace_back((*list)[i].as_string());
  }
  if (!good)
    mistakes.push_back({"list_type",
                        at(prefix, "additional_imports"),
                        "Input should be a list of at most 100 names",
                        *imports,
                        {}});
}

std::variant<Reset, Mistakes> read_reset(const json::object& object, const json::array& prefix) {
  Reset reset;
  Mistakes mistakes;
  if (const json::value* seed = object.if_contains("seed"); seed != nullptr && !seed->is_null()) {
    auto read = read_seed(*seed, at(prefix, "seed"));
    if (auto* wrong = std::get_if<Mistake>(&read)) mistakes.push_back(std::move(*wrong));
    else reset.seed = std::get<std::uint64_t>(read);
  }
  const json::value* episode = object.if_contains("episode_id");
  if (episode != nullptr && !episode->is_null()) {
    if (!episode->is_string())
      mistakes.push_back({"string_type",
                          at(prefix, "episode_id"),
                          "Input should be a valid string",
                          *episode,
                          {}});
    else if (characters(episode->as_string()) > kMaxName)
      mistakes.push_back({"string_too_long", at(prefix, "episode_id"),
                          "String should have at most 255 characters", *episode,
                          json::object{{"max_length", kMaxName}}});
    else reset.episode = std::string(episode->as_string());
  }
  read_options(object, prefix, reset.wishes, mistakes);
  read_session_wishes(object, prefix, reset, mistakes);
  if (!mistakes.empty()) return mistakes;
  return reset;
}

std::variant<Step, Mistakes> read_step(const json::object& body) {
  Step step;
  Mistakes mistakes;
  read_positive(body, {"body"}, "timeout_s", step.timeout_s, mistakes);
  const json::value* action = body.if_contains("action");
  if (action == nullptr) mistakes.push_back(missing({"body", "action"}, body));
  else if (!action->is_object())
    mistakes.push_back(
        {"dict_type", {"body", "action"}, "Input should be a valid dictionary", *action, {}});
  if (!mistakes.empty()) return mistakes;
  auto read = read_action(action->as_object());
  if (auto* wrong = std::get_if<Mistakes>(&read)) return std::move(*wrong);
  step.action = std::move(std::get<Action>(read));
  return step;
}

std::string to_json(Observation observation) {
  std::string rest = ",\"exit_code\":" + std::to_string(observation.exit_code);
  if (observation.has_screenshot)
    rest += ",\"screenshot\":" + (observation.screenshot.empty()
                                      ? std::string("null")
                                      : "\"" + observation.screenshot + "\"");
  if (!observation.metadata.empty())
    rest += ",\"metadata\":" + json::serialize(observation.metadata);
  rest += "},\"reward\":";
  rest += observation.reward ? decimal(*observation.reward) : "null";
  rest += ",\"done\":false}";
  const std::size_t room = kMaxReply - std::min(rest.size() + 100, kMaxReply / 2);
  // Each may have what the other leaves, and half of it in any case.
  std::string err = quoted_within(observation.err, room / 2);
  std::string out = quoted_within(observation.out, room - err.size());
  return "{\"observation\":{\"stdout\":" + out + ",\"stderr\":" + err + rest;
}

std::string to_json(const State& state) {
  return "{\"episode_id\":" + (state.episode ? json_text(*state.episode) : std::string("null")) +
         ",\"step_count\":" + std::to_string(state.steps) +
         ",\"last_exit_code\":" + std::to_string(state.last_exit_code) + "}";
}

std::string metadata_json(const char* name) {
  return json::serialize(json::object{{"name", name},
                                      {"description", std::string(name) + " environment"},
                                      {"readme_content", nullptr},
                                      {"version", "1.0.0"},
                                      {"author", nullptr},
                                      {"documentation_url", nullptr}});
}

std::string schema_json() {
  const json::object metadata{
      {"additionalProperties", true}, {"title", "Metadata"}, {"type", "object"}};
  const auto text = [](const char* title, const char* otherwise) {
    return json::object{{"default", otherwise}, {"title", title}, {"type", "string"}};
  };
  const json::array number_or_null{
      json::object{{"type", "boolean"}}, json::object{{"type", "integer"}},
      json::object{{"type", "number"}}, json::object{{"type", "null"}}};
  const json::array text_or_null{json::object{{"type", "string"}}, json::object{{"type", "null"}}};
  json::object action{
      {"additionalProperties", false},
      {"properties",
       json::object{{"metadata", metadata},
                    {"code", json::object{{"title", "Code"}, {"type", "string"}}},
                    {"capture_screenshot", json::object{{"default", false}, {"type", "boolean"}}},
                    {"render_timeout", json::object{{"type", "number"}, {"exclusiveMinimum", 0}}},
                    {"timeout_s", json::object{{"type", "number"}, {"exclusiveMinimum", 0}}}}},
      {"required", json::array{"code"}},
      {"title", "CodeAction"},
      {"type", "object"}};
  json::object observation{
      {"additionalProperties", false},
      {"properties",
       json::object{
           {"done", json::object{{"default", false}, {"title", "Done"}, {"type", "boolean"}}},
           {"reward",
            json::object{{"anyOf", number_or_null}, {"default", nullptr}, {"title", "Reward"}}},
           {"metadata", metadata},
           {"stdout", text("Stdout", "")},
           {"stderr", text("Stderr", "")},
           {"exit_code",
            json::object{{"default", 0}, {"title", "Exit Code"}, {"type", "integer"}}}}},
      {"title", "CodeObservation"},
      {"type", "object"}};
  json::object state{
      {"additionalProperties", true},
      {"properties",
       json::object{
           {"episode_id",
            json::object{{"anyOf", text_or_null}, {"default", nullptr}, {"title", "Episode Id"}}},
           {"step_count",
            json::object{
                {"default", 0}, {"minimum", 0}, {"title", "Step Count"}, {"type", "integer"}}}}},
      {"title", "State"},
      {"type", "object"}};
  return json::serialize(json::object{{"action", std::move(action)},
                                      {"observation", std::move(observation)},
                                      {"state", std::move(state)}});
}

}  // namespace vitrine::api::openenv
