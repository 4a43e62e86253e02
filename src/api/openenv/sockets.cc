// SPDX-License-Identifier: Apache-2.0
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "api/openenv/adapter.h"
#include "api/openenv/errors.h"
#include "service/async.h"

namespace vitrine::api::openenv {

using namespace boost::asio::experimental::awaitable_operators;

namespace {

constexpr std::chrono::seconds kRefusalTime{1};

class SocketClient final : public service::Client {
 public:
  explicit SocketClient(WebSocket& socket) : socket_(socket) {}
  Task<void> gone() override { return socket_.gone(); }

 private:
  WebSocket& socket_;
};

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

}  // namespace

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
    const json::array here{"data"};
    auto request = read_known_reset(given, here);
    if (auto* wrong = std::get_if<Mistakes>(&request)) co_return invalid_frame(*wrong);
    seen = co_await environment->reset(std::move(std::get<Reset>(request)));
  } else {
    auto action = read_action(given);
    if (auto* wrong = std::get_if<Mistakes>(&action)) co_return invalid_frame(*wrong);
    SocketClient client(socket);
    seen = co_await environment->step(std::move(std::get<Action>(action)), std::nullopt, client);
  }
  if (!seen) co_return error_frame("EXECUTION_ERROR", text_of(seen.error()));
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
                               full ? full_message() : text_of(opened.error()), std::move(more));
    if (!co_await socket->send(std::move(refusal))) co_return;
    // Stock clients read it as the answer to what they send first, and cannot send to a socket that
    // is closing.
    Timer timer(executor_, kRefusalTime);
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
          error_frame("SESSION_ERROR", message->is_text ? "the message is not an object"
                                                        : "only text frames are supported");
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
    co_await web_changes_->wait(Clock::now() + std::chrono::seconds(20));
  }
}

}  // namespace vitrine::api::openenv
