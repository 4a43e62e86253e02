// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/routes.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <map>

#include "api/openenv/environment.h"
#include "api/openenv/page.h"
#include "api/websocket.h"
#include "session/provision.h"

namespace vitrine::api::openenv {

using namespace boost::asio::experimental::awaitable_operators;

namespace {

constexpr std::size_t kMaxBody = 20u << 20;
constexpr std::size_t kMaxUnclaimed = 4096;
constexpr std::chrono::seconds kRefusalTime{1};
constexpr std::string_view kCookie = "vitrine_env";
constexpr const char* kName = "PythonCodeActEnv";
constexpr const char* kJson = "application/json";

struct Parsed {
  json::value value;
  std::string wrong;   // "" = nothing
  std::size_t at = 0;  // where it is wrong
};

Parsed parse(const std::string& text) {
  json::parse_options options;
  options.max_depth = 32;
  json::parser parser(json::storage_ptr(), options);
  boost::system::error_code failed;
  const std::size_t read = parser.write_some(text.data(), text.size(), failed);
  if (failed) return {nullptr, failed.message(), read};
  if (text.find_first_not_of(" \t\r\n", read) != std::string::npos)
    return {nullptr, "there is something after the value", read};
  return {parser.release(), "", 0};
}

// The values of our cookie: a client may have kept an old one beside the new.
std::vector<std::string> cookies_of(const Exchange& exchange) {
  const std::string all = exchange.header("Cookie");
  const std::string key = std::string(kCookie) + "=";
  std::vector<std::string> values;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = all.find(';', at);
    if (end == std::string::npos) end = all.size();
    while (at < end && all[at] == ' ') ++at;
    if (all.compare(at, key.size(), key) == 0)
      values.push_back(all.substr(at + key.size(), end - at - key.size()));
    at = end + 1;
  }
  return values;
}

std::string error_frame(const std::string& code, const std::string& message,
                        json::object more = {}) {
  json::object data{{"message", message}, {"code", code}};
  for (auto& [key, value] : more) data[key] = std::move(value);
  return json::serialize(json::object{{"type", "error"}, {"data", std::move(data)}});
}

std::string invalid_frame(const Mistakes& mistakes) {
  json::object more;
  more["errors"] = to_json(mistakes);
  return error_frame("VALIDATION_ERROR", "Invalid message", std::move(more));
}

std::string detail_json(std::string_view detail) {
  return json::serialize(json::object{{"detail", detail}});
}

json::object rpc_error(const json::value& id, int code, const std::string& message,
                       json::value data = nullptr) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", json::object{{"code", code}, {"message", message}, {"data", std::move(data)}}}};
}

json::object rpc_result(const json::value& id, json::object result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

std::string state_json(const std::shared_ptr<Environment>& environment) {
  return to_json(environment ? environment->state() : State{});
}

class Adapter : public std::enable_shared_from_this<Adapter> {
 public:
  Adapter(asio::any_io_executor executor, session::Registry& registry, Judge& judge,
          const Settings& settings)
      : executor_(std::move(executor)), registry_(registry), judge_(judge), settings_(settings) {}

  void add_to(Router& router);

 private:
  using EnvironmentPtr = std::shared_ptr<Environment>;

  Task<void> reset(Exchange& exchange);
  Task<void> step(Exchange& exchange);
  Task<void> state(Exchange& exchange);
  Task<void> mcp(Exchange& exchange);
  Task<void> mcp_socket(Exchange& exchange);
  Task<void> socket(Exchange& exchange);
  Task<void> web_reset(Exchange& exchange);
  Task<void> web_step(Exchange& exchange);
  Task<void> web_socket(Exchange& exchange);

  using Environments = std::map<std::string, EnvironmentPtr>;

  EnvironmentPtr make(Environment::Life life) const {
    return std::make_shared<Environment>(executor_, registry_, judge_, life);
  }
  static EnvironmentPtr find(const Environments& among, const std::string& id) {
    const auto found = among.find(id);
    return found == among.end() ? nullptr : found->second;
  }
  Header keep(EnvironmentPtr environment);
  void sweep();
  EnvironmentPtr of(const Exchange& exchange) const;
  Task<std::optional<json::object>> body_of(Exchange& exchange, bool required);
  Task<void> refuse(Exchange& exchange, const Mistakes& mistakes);
  Task<void> fail(Exchange& exchange, const Error& error);
  Task<std::optional<Reset>> reset_of(Exchange& exchange);
  Task<void> answer_reset(Exchange& exchange, EnvironmentPtr environment, Reset request);
  Task<void> answer_step(Exchange& exchange, EnvironmentPtr environment,
                         std::vector<Header> headers);
  Task<void> converse(std::shared_ptr<WebSocket> socket, EnvironmentPtr environment);
  Task<std::string> answer_message(EnvironmentPtr environment, const json::object& message,
                                   WebSocket& socket);
  Task<json::object> answer_rpc(const json::value& request);
  std::string full_message() const;
  json::object full_numbers() const {
    return {{"active_sessions", registry_.count()}, {"max_sessions", settings_.capacity}};
  }

  asio::any_io_executor executor_;
  session::Registry& registry_;
  Judge& judge_;
  Settings settings_;
  Environments with_cookies_;
  std::deque<std::string> unclaimed_;  // cookies that were sent, oldest first; many never come back
  EnvironmentPtr without_cookies_;     // one for all clients that keep none
  Environments of_mcp_;
  // That of the page, and who watches it.
  EnvironmentPtr web_;
  std::optional<session::Changes> web_changes_;
};

std::string Adapter::full_message() const {
  return "Server at capacity: " + std::to_string(registry_.count()) + "/" +
         std::to_string(settings_.capacity) + " sessions active. Cannot accept new connections.";
}

Header Adapter::keep(EnvironmentPtr environment) {
  if (unclaimed_.size() >= kMaxUnclaimed) sweep();
  const std::string id = session::new_id();
  with_cookies_[id] = std::move(environment);
  unclaimed_.push_back(id);
  return {"Set-Cookie", std::string(kCookie) + "=" + id + "; Path=/; HttpOnly; SameSite=Strict"};
}

// Forgets the older half of the cookies that nobody has stepped with, and what ended long ago.
void Adapter::sweep() {
  for (std::size_t i = 0; i < kMaxUnclaimed / 2; ++i) {
    const auto one = with_cookies_.find(unclaimed_.front());
    if (one != with_cookies_.end() && !one->second->has_session()) with_cookies_.erase(one);
    unclaimed_.pop_front();
  }
  for (Environments* all : {&with_cookies_, &of_mcp_})
    std::erase_if(*all, [](const auto& one) { return one.second->is_over(); });
}

// Null if it has a cookie that we do not know, or no longer.
Adapter::EnvironmentPtr Adapter::of(const Exchange& exchange) const {
  const std::vector<std::string> ids = cookies_of(exchange);
  if (ids.empty()) return without_cookies_;
  for (const std::string& id : ids)
    if (EnvironmentPtr found = find(with_cookies_, id)) return found;
  return nullptr;
}

Task<std::optional<json::object>> Adapter::body_of(Exchange& exchange, bool required) {
  Result<std::string> text = co_await exchange.body(kMaxBody);
  if (!text) {
    const bool large = text.error().code == Code::over_limit;
    const http::status status = large ? http::status::payload_too_large : http::status::bad_request;
    std::string why = detail_json(text.error().message);
    co_await exchange.respond(status, kJson, std::move(why));
    co_return std::nullopt;
  }
  if (text->empty() && !required) co_return json::object{};
  Parsed parsed = parse(*text);
  Mistakes mistakes;
  if (text->empty()) {
    mistakes.push_back({"missing", {"body"}, "Field required", nullptr, {}});
  } else if (!parsed.wrong.empty()) {
    mistakes.push_back({"json_invalid",
                        {"body", parsed.at},
                        "JSON decode error",
                        json::object{},
                        json::object{{"error", parsed.wrong}}});
  } else if (!parsed.value.is_object()) {
    mistakes.push_back({"model_attributes_type",
                        {"body"},
                        "Input should be a valid dictionary or object to extract fields from",
                        parsed.value,
                        {}});
  }
  if (!mistakes.empty()) {
    co_await refuse(exchange, mistakes);
    co_return std::nullopt;
  }
  co_return std::move(parsed.value.as_object());
}

Task<void> Adapter::refuse(Exchange& exchange, const Mistakes& mistakes) {
  json::object body;
  body["detail"] = to_json(mistakes);
  co_await exchange.respond(http::status::unprocessable_entity, kJson, json::serialize(body));
}

Task<void> Adapter::fail(Exchange& exchange, const Error& error) {
  const bool full = error.code == Code::unavailable || error.code == Code::over_limit;
  const http::status status =
      full ? http::status::service_unavailable : http::status::internal_server_error;
  std::vector<Header> headers;
  if (full) headers.emplace_back("Retry-After", "1");
  std::string why = error.message;
  if (!error.remedy.empty()) why += "; " + error.remedy;
  std::string body = detail_json(why);
  co_await exchange.respond(status, kJson, std::move(body), std::move(headers));
}

Task<std::optional<Reset>> Adapter::reset_of(Exchange& exchange) {
  std::optional<json::object> body = co_await body_of(exchange, false);
  if (!body) co_return std::nullopt;
  auto request = read_reset(*body, {"body"});
  if (auto* wrong = std::get_if<Mistakes>(&request)) {
    co_await refuse(exchange, *wrong);
    co_return std::nullopt;
  }
  co_return std::move(std::get<Reset>(request));
}

Task<void> Adapter::answer_reset(Exchange& exchange, EnvironmentPtr environment, Reset request) {
  Result<Observation> seen = co_await environment->reset(std::move(request));
  if (!seen) co_return co_await fail(exchange, seen.error());
  std::string text = to_json(std::move(*seen));
  co_await exchange.respond(http::status::ok, kJson, std::move(text));
}

// Whether a client keeps cookies is known when it comes back. Until then its episode begins twice, for
// the cookie that it gets and for those that keep none; neither costs a session before it is used.
Task<void> Adapter::reset(Exchange& exchange) {
  std::optional<Reset> request = co_await reset_of(exchange);
  if (!request) co_return;
  const bool has_cookie = !cookies_of(exchange).empty();
  EnvironmentPtr environment = of(exchange);
  if (has_cookie && environment)
    co_return co_await answer_reset(exchange, environment, std::move(*request));
  // Its packages are seen to now: what is wrong with them is the answer to this request.
  session::SessionSpec spec;
  spec.additional = true;
  session::add_imports(request->imports, spec);
  spec.allow_sdist = request->allow_sdist;
  Status provided = co_await registry_.provide(&spec);
  if (!provided) co_return co_await fail(exchange, provided.error());
  request->notes = spec.package_notes;
  if (!request->episode) request->episode = new_episode();
  if (!has_cookie) environment->reset_later(*request);
  EnvironmentPtr own = make(Environment::Life::idle);
  std::string text = to_json(own->reset_later(std::move(*request)));
  std::vector<Header> headers(1, keep(own));
  co_await exchange.respond(http::status::ok, kJson, std::move(text), std::move(headers));
}

Task<void> Adapter::answer_step(Exchange& exchange, EnvironmentPtr environment,
                                std::vector<Header> headers) {
  std::optional<json::object> body = co_await body_of(exchange, true);
  if (!body) co_return;
  auto request = read_step(*body);
  if (auto* wrong = std::get_if<Mistakes>(&request)) co_return co_await refuse(exchange, *wrong);
  Step& step = std::get<Step>(request);
  const auto gone = [&exchange]() -> Task<void> { co_await exchange.gone(); };
  Result<Observation> seen =
      co_await environment->step(std::move(step.action), step.timeout_s, gone);
  if (!seen) co_return co_await fail(exchange, seen.error());
  std::string text = to_json(std::move(*seen));
  co_await exchange.respond(http::status::ok, kJson, std::move(text), std::move(headers));
}

Task<void> Adapter::step(Exchange& exchange) {
  EnvironmentPtr environment = of(exchange);
  std::vector<Header> headers;
  if (!environment) {
    environment = make(Environment::Life::idle);
    environment->replaces_another();
    headers.push_back(keep(environment));
  }
  co_await answer_step(exchange, environment, std::move(headers));
}

Task<void> Adapter::state(Exchange& exchange) {
  std::string text = state_json(of(exchange));
  co_await exchange.respond(http::status::ok, kJson, std::move(text));
}

Task<std::string> Adapter::answer_message(EnvironmentPtr environment, const json::object& message,
                                          WebSocket& socket) {
  const json::value* type = message.if_contains("type");
  const std::string kind =
      type != nullptr && type->is_string() ? std::string(type->as_string()) : "None";
  const bool takes_data = kind == "reset" || kind == "step" || kind == "mcp";
  if (!takes_data && kind != "state" && kind != "close")
    co_return error_frame("UNKNOWN_TYPE", "Unknown message type: " + brief(kind));
  Mistakes mistakes;
  for (const auto& [key, value] : message)
    if (key != "type" && !(takes_data && key == "data"))
      mistakes.push_back(
          {"extra_forbidden", {json::string(key)}, "Extra inputs are not permitted", value, {}});
  const json::value* data = message.if_contains("data");
  if (takes_data && data != nullptr && !data->is_object())
    mistakes.push_back({"dict_type", {"data"}, "Input should be a valid dictionary", *data, {}});
  if (data == nullptr && (kind == "step" || kind == "mcp"))
    mistakes.push_back({"missing", {"data"}, "Field required", message, {}});
  if (!mistakes.empty()) co_return invalid_frame(mistakes);
  const json::object none;
  const json::object& given = data == nullptr ? none : data->as_object();

  Result<Observation> seen = Observation{};
  if (kind == "state")
    co_return "{\"type\":\"state\",\"data\":" + to_json(environment->state()) + "}";
  if (kind == "mcp") {
    const json::object reply = co_await answer_rpc(*data);
    co_return "{\"type\":\"mcp\",\"data\":" + json::serialize(reply) + "}";
  }
  if (kind == "reset") {
    auto request = read_reset(given, {"data"});
    if (auto* wrong = std::get_if<Mistakes>(&request)) co_return invalid_frame(*wrong);
    seen = co_await environment->reset(std::move(std::get<Reset>(request)));
  } else {
    auto action = read_action(given);
    if (auto* wrong = std::get_if<Mistakes>(&action)) co_return invalid_frame(*wrong);
    const auto gone = [&socket]() -> Task<void> { co_await socket.gone(); };
    seen = co_await environment->step(std::move(std::get<Action>(action)), std::nullopt, gone);
  }
  if (!seen) co_return error_frame("EXECUTION_ERROR", seen.error().message);
  co_return "{\"type\":\"observation\",\"data\":" + to_json(std::move(*seen)) + "}";
}

Task<void> Adapter::socket(Exchange& exchange) {
  std::shared_ptr<WebSocket> socket = co_await exchange.upgrade(kMaxBody);
  if (!socket) co_return;
  EnvironmentPtr environment = make(Environment::Life::connection);
  if (Status opened = co_await environment->open(); !opened) {
    const bool full = opened.error().code == Code::unavailable;
    json::object more = full ? full_numbers() : json::object{{"factory_name", kName}};
    WebSocket::Message refusal;
    refusal.data = error_frame(full ? "CAPACITY_REACHED" : "FACTORY_ERROR",
                               full ? full_message() : opened.error().message, std::move(more));
    if (!co_await socket->send(std::move(refusal))) co_return;
    // Stock clients read it as the answer to what they send first, and cannot send to a socket that
    // is closing.
    asio::steady_timer timer(executor_, kRefusalTime);
    (void)co_await (socket->next() || timer.async_wait(asio::use_awaitable));
    co_return co_await socket->close(WebSocket::Close::normal, "");
  }
  try {
    co_await converse(socket, environment);
  } catch (...) {
    environment->close();
    throw;
  }
  environment->close();
}

Task<void> Adapter::converse(std::shared_ptr<WebSocket> socket, EnvironmentPtr environment) {
  while (std::optional<WebSocket::Message> message = co_await socket->next()) {
    WebSocket::Message answer;
    bool over = false;
    Parsed parsed;
    if (message->is_text) parsed = parse(message->data);
    if (!parsed.wrong.empty()) {
      answer.data = error_frame("INVALID_JSON", "Invalid JSON: " + parsed.wrong);
    } else if (!parsed.value.is_object()) {
      answer.data =
          error_frame("SESSION_ERROR", message->is_text ? "the message is no object"
                                                        : "only text frames are understood");
      over = true;
    } else {
      const json::object& object = parsed.value.as_object();
      const json::value* type = object.if_contains("type");
      over = object.size() == 1 && type != nullptr && type->is_string() &&
             type->as_string() == "close";
      if (!over) answer.data = co_await answer_message(environment, object, *socket);
    }
    if (over) environment->close();
    if (!answer.data.empty() && !co_await socket->send(std::move(answer))) co_return;
    if (over) co_return co_await socket->close(WebSocket::Close::normal, "");
  }
}

Task<json::object> Adapter::answer_rpc(const json::value& request) {
  const json::object* call = request.if_object();
  const json::value* id = call != nullptr ? call->if_contains("id") : nullptr;
  const json::value name = id != nullptr && !id->is_structured() ? *id : json::value(nullptr);
  const json::value* method = call != nullptr ? call->if_contains("method") : nullptr;
  const json::value* version = call != nullptr ? call->if_contains("jsonrpc") : nullptr;
  bool valid = method != nullptr && method->is_string() && version != nullptr &&
               version->is_string() && version->as_string() == "2.0";
  if (valid)
    for (const auto& [key, value] : *call)
      valid = valid && (key == "jsonrpc" || key == "method" || key == "params" || key == "id");
  if (!valid) co_return rpc_error(name, -32600, "Invalid Request");
  const std::string verb(method->as_string());
  const json::value* params = call->if_contains("params");
  if (params != nullptr && !params->is_object() && !params->is_null())
    co_return rpc_error(name, -32602, "Invalid params: they must be an object");
  const json::object none;
  const json::object& given = params != nullptr && params->is_object() ? params->as_object() : none;
  const json::value* asked = given.if_contains("session_id");
  const std::string session =
      asked != nullptr && asked->is_string() ? std::string(asked->as_string()) : "";

  if (verb == "openenv/session/create") {
    EnvironmentPtr environment = make(Environment::Life::idle);
    if (Status opened = co_await environment->open(); !opened)
      co_return rpc_error(name, -32000, full_message(), full_numbers());
    const std::string made = new_episode();
    of_mcp_[made] = environment;
    json::object result{{"session_id", made}};
    co_return rpc_result(name, std::move(result));
  }
  const bool known =
      verb == "openenv/session/close" || verb == "tools/list" || verb == "tools/call";
  if (!known) co_return rpc_error(name, -32601, "Method not found: " + brief(verb));
  if ((asked != nullptr || verb == "openenv/session/close") && !find(of_mcp_, session))
    co_return rpc_error(name, -32602, "Unknown session_id: " + brief(session));
  if (verb != "openenv/session/close")
    co_return rpc_error(name, -32603, "Environment does not support MCP");
  find(of_mcp_, session)->close();
  of_mcp_.erase(session);
  json::object result{{"session_id", session}, {"closed", true}};
  co_return rpc_result(name, std::move(result));
}

Task<void> Adapter::mcp(Exchange& exchange) {
  Result<std::string> text = co_await exchange.body(kMaxBody);
  json::object reply;
  if (!text) {
    reply = rpc_error(nullptr, -32700, "Parse error: " + text.error().message);
  } else {
    const Parsed parsed = parse(*text);
    if (parsed.wrong.empty()) reply = co_await answer_rpc(parsed.value);
    else reply = rpc_error(nullptr, -32700, "Parse error: " + parsed.wrong);
  }
  co_await exchange.respond(http::status::ok, kJson, json::serialize(reply));
}

Task<void> Adapter::mcp_socket(Exchange& exchange) {
  std::shared_ptr<WebSocket> socket = co_await exchange.upgrade(kMaxBody);
  if (!socket) co_return;
  while (std::optional<WebSocket::Message> message = co_await socket->next()) {
    const Parsed parsed = parse(message->data);
    json::object reply;
    if (parsed.wrong.empty()) reply = co_await answer_rpc(parsed.value);
    else reply = rpc_error(nullptr, -32700, "Parse error: " + parsed.wrong);
    WebSocket::Message answer;
    answer.data = json::serialize(reply);
    if (!co_await socket->send(std::move(answer))) break;
  }
}

Task<void> Adapter::web_reset(Exchange& exchange) {
  std::optional<Reset> request = co_await reset_of(exchange);
  if (!request) co_return;
  co_await answer_reset(exchange, web_, std::move(*request));
  web_changes_->tell();
}

Task<void> Adapter::web_step(Exchange& exchange) {
  std::vector<Header> headers;
  co_await answer_step(exchange, web_, std::move(headers));
  web_changes_->tell();
}

Task<void> Adapter::web_socket(Exchange& exchange) {
  std::shared_ptr<WebSocket> socket = co_await exchange.upgrade(kMaxBody);
  if (!socket) co_return;
  for (;;) {
    const State& state = web_->state();
    WebSocket::Message update;
    update.data =
        "{\"type\":\"state_update\",\"episode_state\":{\"episode_id\":" +
        (state.episode ? json::serialize(json::string(*state.episode)) : std::string("null")) +
        ",\"step_count\":" + std::to_string(state.steps) +
        ",\"current_observation\":null,\"action_logs\":[],\"is_reset\":" +
        (state.steps == 0 ? "true" : "false") + "}}";
    if (!co_await socket->send(std::move(update))) co_return;
    // Also now and then, to find out that nobody watches any more.
    co_await web_changes_->wait(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  }
}

void Adapter::add_to(Router& router) {
  web_changes_.emplace(executor_);
  web_ = make(Environment::Life::idle);
  without_cookies_ = make(Environment::Life::idle);
  auto self = shared_from_this();
  using Method = Task<void> (Adapter::*)(Exchange&);
  const auto add = [&](http::verb verb, const char* pattern, const char* summary, Method method) {
    router.add({verb, pattern, summary, Access::ordinary,
                [self, method](Exchange& exchange) -> Task<void> {
                  co_await ((*self).*method)(exchange);
                }});
  };
  const auto say = [&](const char* pattern, const char* summary, const char* type,
                       std::string body) {
    router.add({http::verb::get, pattern, summary, Access::ordinary,
                [type, body = std::move(body)](Exchange& exchange) -> Task<void> {
                  co_await exchange.respond(http::status::ok, type, body);
                }});
  };
  add(http::verb::post, "/reset", "OpenEnv: a new episode", &Adapter::reset);
  add(http::verb::post, "/step", "OpenEnv: run code", &Adapter::step);
  add(http::verb::get, "/state", "OpenEnv: the episode's counters", &Adapter::state);
  add(http::verb::get, "/ws", "OpenEnv: an environment per WebSocket", &Adapter::socket);
  add(http::verb::post, "/mcp", "OpenEnv's dialect of JSON-RPC", &Adapter::mcp);
  add(http::verb::get, "/mcp", "The same over a WebSocket", &Adapter::mcp_socket);
  add(http::verb::post, "/web/reset", "OpenEnv: the page's environment", &Adapter::web_reset);
  add(http::verb::post, "/web/step", "OpenEnv: the page's environment", &Adapter::web_step);
  add(http::verb::get, "/ws/ui", "OpenEnv: watch the page's environment", &Adapter::web_socket);
  router.add({http::verb::get, "/web/state", "OpenEnv: the page's environment", Access::ordinary,
              [self](Exchange& exchange) -> Task<void> {
                std::string text = state_json(self->web_);
                co_await exchange.respond(http::status::ok, kJson, std::move(text));
              }});
  router.add({http::verb::get, "/web", "OpenEnv: a page to try it", Access::ordinary,
              [](Exchange& exchange) -> Task<void> {
                const std::vector<Header> headers{{"Location", "/web/"}};
                co_await exchange.respond(http::status::temporary_redirect, "", "", headers);
              }});
  say("/metadata", "OpenEnv: what this environment is", kJson, metadata_json(kName));
  say("/web/metadata", "OpenEnv: the same for the page", kJson, metadata_json("coding_env"));
  say("/schema", "OpenEnv: schemas of action, observation, state", kJson, schema_json());
  say("/web/", "OpenEnv: a page to try it", "text/html; charset=utf-8", page_html());
  for (const char* path : {"/docs", "/redoc"})
    say(path, "OpenEnv: this description as a page", "text/html; charset=utf-8", docs_html());
}

}  // namespace

void add_routes(Router& router, asio::any_io_executor executor, session::Registry& registry,
                Judge& judge, const Settings& settings) {
  std::make_shared<Adapter>(std::move(executor), registry, judge, settings)->add_to(router);
}

}  // namespace vitrine::api::openenv
