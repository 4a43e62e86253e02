// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/adapter.h"

namespace vitrine::api::openenv {

namespace {

json::object rpc_error(const json::value& id, int code, const std::string& message,
                       json::value data = nullptr) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", json::object{{"code", code}, {"message", message}, {"data", std::move(data)}}}};
}

json::object rpc_result(const json::value& id, json::object result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

}  // namespace

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

}  // namespace vitrine::api::openenv
