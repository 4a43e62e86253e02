// SPDX-License-Identifier: Apache-2.0
#include "api/native/requests.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "api/schemas.h"
#include "api/text.h"
#include "model/environment.h"
#include "session/worker_rules.h"

namespace vitrine::api {

namespace {

constexpr std::size_t kProxyVariables = 8;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000 + 0.5));
}

void read_limits(Fields& outer, session::SessionSpec& spec) {
  Limits& limits = spec.limits;
  const json::object* object = outer.object("limits");
  if (object == nullptr) return;
  Fields fields(*object, "limits.");
  fields.use(kLimits);
  if (auto v = fields.whole("memory_mb")) limits.memory_bytes = *v << 20;
  if (auto v = fields.number("cpus"))
    limits.cpu_permille = static_cast<std::uint32_t>(*v * 1000 + 0.5);
  if (auto v = fields.whole("processes")) limits.processes = static_cast<std::uint32_t>(*v);
  if (auto v = fields.whole("disk_mb")) limits.disk_bytes = *v << 20;
  if (auto v = fields.whole("output_kb")) limits.output_bytes = *v << 10;
  if (auto v = fields.number("exec_timeout_s")) limits.exec_time = milliseconds(*v);
  if (auto v = fields.number("idle_timeout_s")) limits.idle_time = milliseconds(*v);
  if (auto v = fields.number("install_timeout_s")) spec.install_time = milliseconds(*v);
  if (auto problem = fields.problem()) outer.adopt(std::move(*problem));
}

void read_display(Fields& outer, Geometry& geometry) {
  const json::object* object = outer.object("display");
  if (object == nullptr) return;
  Fields fields(*object, "display.");
  fields.use(kDisplay);
  if (auto v = fields.whole("width")) geometry.width = static_cast<std::uint32_t>(*v);
  if (auto v = fields.whole("height")) geometry.height = static_cast<std::uint32_t>(*v);
  if (auto problem = fields.problem()) outer.adopt(std::move(*problem));
}

void read_environment(Fields& fields, std::map<std::string, std::string>& environment) {
  auto given = fields.texts("env");
  if (!given) return;
  if (given->size() > session::kMaxEnvironment)
    return fields.fail("env", "it has more than 256 variables", "send fewer");
  for (const auto& [name, value] : *given)
    if (!session::is_allowed_variable(name, value))
      return fields.fail("env", "the variable \"" + shown(name) + "\" is not allowed",
                         "leave out names with '=', values with NUL, and variables that change how "
                         "programs are loaded (LD_*, PYTHONPATH, PYTHONHOME, ...)");
  environment = std::move(*given);
}

void read_network(Fields& outer, session::SessionSpec& spec) {
  const json::object* object = outer.object("network");
  if (object == nullptr) return;
  Fields fields(*object, "network.");
  fields.use(kNetwork);
  Network network;
  const json::array* rules = fields.array("allow");
  if (rules == nullptr) {
    fields.fail("allow", "it is missing",
                "name the hosts that the session may reach: {\"allow\": [\"example.org\"]}");
  } else {
    for (const json::value& rule : *rules) {
      if (!rule.is_string() || network.allow.size() > kMaxNetworkRules) continue;
      network.allow.emplace_back(rule.as_string());
    }
    Status valid = network.validate();
    if (network.allow.size() < std::min(rules->size(), kMaxNetworkRules + 1))
      fields.fail("allow", "it contains something that is not a string", "send a list of strings");
    else if (!valid) fields.fail("allow", valid.error().message, valid.error().remedy);
  }
  if (auto problem = fields.problem()) return outer.adopt(std::move(*problem));
  if (spec.env.size() > session::kMaxEnvironment - kProxyVariables)
    return outer.fail("env", "it has more than 248 variables, and a network needs eight",
                      "send fewer");
  spec.network = std::move(network);
}

}  // namespace

void read_packages(Fields& fields, service::SessionRequest& request) {
  fields.use(kPackages);
  provision::PackageRequest& wish = request.packages;
  wish.packages = fields.list("packages", R"(["polars==1.*", "humanize"])");
  wish.imports = fields.list("imports", R"(["cv2", "matplotlib.pyplot"])");
  for (const std::string& name : wish.imports)
    if (request.spec.policy != Policy::native && !session::is_module_name(name))
      fields.fail("imports", "it contains something that is not a module's name",
                  "send names such as \"cv2\" or \"matplotlib.pyplot\"");
  wish.allow_sdist = fields.flag("allow_sdist").value_or(false);
  request.spec.allow_sdist = wish.allow_sdist;  // also for what it asks for later
}

void read_session(Fields& fields, service::SessionRequest& request) {
  session::SessionSpec& spec = request.spec;
  fields.use(kSession);
  spec.name = fields.text("name").value_or("");
  if (auto isolation = fields.choice("isolation")) spec.isolation = *isolation_from(*isolation);
  if (auto policy = fields.choice("policy")) spec.policy = *policy_from(*policy);
  read_packages(fields, request);
  spec.environment = fields.text("environment").value_or("");
  if (spec.environment == kPlainEnvironment) spec.environment.clear();
  read_environment(fields, spec.env);
  if (auto seed = fields.whole("seed")) {
    spec.seed = seed;
    spec.variant = Variant::seeded;
  }
  read_display(fields, spec.display);
  read_limits(fields, spec);
  read_network(fields, spec);
}

namespace {

void read_strip(Fields& fields, std::optional<FilmstripOptions>& strip) {
  const json::object* wish = fields.object("capture");
  if (wish == nullptr) return;
  Fields inner(*wish, "capture.");
  inner.use(kCapture);
  strip.emplace();
  if (auto every = inner.whole("every_ms")) strip->every = std::chrono::milliseconds(*every);
  const bool on_change = inner.flag("on_change").value_or(false);
  strip->most = static_cast<std::uint32_t>(inner.whole("max").value_or(20));
  if (!inner.failed() && strip->every.has_value() == on_change)
    inner.fail("every_ms", "exactly one of every_ms and on_change is needed",
               "send {\"every_ms\": 200} or {\"on_change\": true}");
  if (auto problem = inner.problem()) fields.adopt(std::move(*problem));
}

}  // namespace

void read_exec(Fields& fields, ExecRequest& request) {
  fields.use(kExec);
  auto code = fields.text("code");
  if (!code) fields.fail("code", "it is missing", "send the Python code as a string in \"code\"");
  else request.code = std::move(*code);
  if (auto seconds = fields.number("timeout_s")) request.timeout = milliseconds(*seconds);
  request.stdin_text = fields.text("stdin");
  read_environment(fields, request.env);
  request.capture_screenshot = fields.flag("capture_screenshot").value_or(false);
  read_strip(fields, request.strip);
  if (auto seconds = fields.number("render_timeout"))
    request.render_timeout = milliseconds(*seconds);
  if (auto seconds = fields.number("display_time")) request.display_time = milliseconds(*seconds);
  if (auto wish = fields.choice("on_disconnect"))
    request.on_disconnect =
        *wish == "continue" ? OnDisconnect::keep_going : OnDisconnect::interrupt;
}

std::variant<Page, Problem> read_page(const std::map<std::string, std::string>& query,
                                      std::size_t usual, std::size_t most) {
  Page page{.after = {}, .limit = usual};
  for (const auto& [name, value] : query) {
    if (name == "after") {
      if (value.size() > 64)
        return bad_field("after", "it is too long", "use the `next` of a page");
      page.after = value;
    } else if (name == "limit") {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), page.limit);
      if (error != std::errc{} || end != value.data() + value.size() || page.limit == 0 ||
          page.limit > most)
        return bad_field("limit", "it is not a whole number from 1 to " + std::to_string(most),
                         "send such a number, or leave it out");
    } else {
      return bad_field(shown(name), "there is no such parameter", "known here: after, limit");
    }
  }
  return page;
}

namespace {

Problem bad_cursor() {
  return bad_field("after", "it is not the end of a page", "use the `next` of the previous page");
}

}  // namespace

std::string to_text(const SessionCursor& cursor) { return cursor.created_at + "_" + cursor.id; }

std::variant<SessionCursor, Problem> read_session_cursor(const std::string& text) {
  if (text.empty()) return SessionCursor{};
  // "2026-11-15T21:37:18.467Z" and 32 hex digits
  constexpr std::size_t kTime = 24;
  constexpr std::size_t kId = 32;
  const bool fits = text.size() == kTime + 1 + kId && text[kTime] == '_' &&
                    text.find_first_not_of("0123456789-:.TZ") == kTime &&
                    text.find_first_not_of("0123456789abcdef", kTime + 1) == std::string::npos;
  if (!fits) return bad_cursor();
  return SessionCursor{.created_at = text.substr(0, kTime), .id = text.substr(kTime + 1)};
}

std::variant<std::uint64_t, Problem> read_history_cursor(const std::string& text) {
  if (text.empty()) return std::uint64_t{0};
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0 || number > INT64_MAX)
    return bad_cursor();
  return number;
}

std::string stored_execution_json(const service::StoredExecution& row) {
  if (!row.record.empty() && row.record.back() == '}') {
    std::string out = row.record.substr(0, row.record.size() - 1);
    return out + ",\"code\":" + json::serialize(json::value(row.code)) + "}";
  }
  json::object out{{"id", row.id},
                   {"session", row.session},
                   {"state", row.state},
                   {"started_at", row.started_at},
                   {"code", row.code}};
  if (row.state == "lost") out["notes"] = json::array{"the server ended while this ran"};
  return json::serialize(out);
}

}  // namespace vitrine::api
