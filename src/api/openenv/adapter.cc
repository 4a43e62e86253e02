// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/adapter.h"

#include "api/openenv/errors.h"
#include "api/streamed.h"
#include "session/ids_and_time.h"

namespace vitrine::api::openenv {

namespace {

constexpr std::size_t kMaxUnclaimed = 4096;
constexpr std::string_view kCookie = "vitrine_env";

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

std::string detail_json(std::string_view detail) {
  return json::serialize(json::object{{"detail", detail}});
}

}  // namespace

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

std::string state_json(const std::shared_ptr<Environment>& environment) {
  return to_json(environment ? environment->state() : State{});
}

std::size_t Adapter::active() const { return operations_.count(settings_.owner); }

std::string Adapter::full_message() const {
  return "Server at capacity: " + std::to_string(active()) + "/" +
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
  const bool full = is_capacity(error);
  const http::status status =
      full ? http::status::service_unavailable : http::status::internal_server_error;
  std::vector<Header> headers;
  if (full) headers.emplace_back("Retry-After", "1");
  std::string why = text_of(error);
  if (!error.remedy.empty()) why += "; " + error.remedy;
  std::string body = detail_json(why);
  co_await exchange.respond(status, kJson, std::move(body), std::move(headers));
}

std::variant<Reset, Mistakes> Adapter::read_known_reset(const json::object& object,
                                                        const json::array& prefix) const {
  auto request = read_reset(object, prefix);
  auto* reset = std::get_if<Reset>(&request);
  if (reset == nullptr) return request;
  service::SessionRequest wanted;
  wanted.spec.environment = reset->environment;
  const Status known = operations_.check(wanted);
  if (known) return request;
  json::array where = prefix;
  where.emplace_back("environment");
  return Mistakes{{"literal_error",
                   std::move(where),
                   known.error().message + "; " + known.error().remedy,
                   json::value(reset->environment),
                   {}}};
}

Task<std::optional<Reset>> Adapter::reset_of(Exchange& exchange) {
  std::optional<json::object> body = co_await body_of(exchange, false);
  if (!body) co_return std::nullopt;
  const json::array here{"body"};
  auto request = read_known_reset(*body, here);
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
  service::SessionRequest wanted;
  wanted.spec.owner = settings_.owner.name;
  wanted.spec.environment = request->environment;
  add_packages(*request, wanted);
  HttpClient client(exchange);
  Result<std::vector<std::string>> notes = co_await operations_.prepare(std::move(wanted), client);
  if (!notes) co_return co_await fail(exchange, notes.error());
  request->notes = std::move(*notes);
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
  HttpClient client(exchange);
  Result<Observation> seen =
      co_await environment->step(std::move(step.action), step.timeout_s, client);
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

Task<void> Adapter::web_reset(Exchange& exchange) {
  std::optional<Reset> request = co_await reset_of(exchange);
  if (!request) co_return;
  co_await answer_reset(exchange, web_, std::move(*request));
  web_changes_->notify_all();
}

Task<void> Adapter::web_step(Exchange& exchange) {
  std::vector<Header> headers;
  co_await answer_step(exchange, web_, std::move(headers));
  web_changes_->notify_all();
}

}  // namespace vitrine::api::openenv
