// SPDX-License-Identifier: Apache-2.0
// One adapter holds the environments of one owner. Its plain requests are in adapter.cc, its sockets in
// sockets.cc, OpenEnv's JSON-RPC in rpc.cc; which path leads where is in routes.cc.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/openenv/environment.h"
#include "api/openenv/routes.h"
#include "api/websocket.h"

namespace vitrine::api::openenv {

constexpr std::size_t kMaxBody = 20u << 20;
constexpr const char* kName = "PythonCodeActEnv";
constexpr const char* kJson = "application/json";

struct Parsed {
  json::value value;
  std::string wrong;   // "" = nothing
  std::size_t at = 0;  // where it is wrong
};

Parsed parse(const std::string& text);

std::string state_json(const std::shared_ptr<Environment>& environment);

class Adapter : public std::enable_shared_from_this<Adapter> {
 public:
  Adapter(asio::any_io_executor executor, service::Operations& operations, Judge& judge,
          const Settings& settings)
      : executor_(std::move(executor)),
        operations_(operations),
        judge_(judge),
        settings_(settings) {}

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
    return std::make_shared<Environment>(executor_, operations_, judge_, settings_.owner.name,
                                         life);
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
  // As read_reset(), and its environment is there.
  std::variant<Reset, Mistakes> read_known_reset(const json::object& object,
                                                 const json::array& prefix) const;
  Task<std::optional<Reset>> reset_of(Exchange& exchange);
  Task<void> answer_reset(Exchange& exchange, EnvironmentPtr environment, Reset request);
  Task<void> answer_step(Exchange& exchange, EnvironmentPtr environment,
                         std::vector<Header> headers);
  Task<void> converse(std::shared_ptr<WebSocket> socket, EnvironmentPtr environment);
  Task<std::string> answer_message(EnvironmentPtr environment, const json::object& message,
                                   WebSocket& socket);
  Task<json::object> answer_rpc(const json::value& request);
  std::size_t active() const;  // sessions, as far as they are its owner's to know
  std::string full_message() const;
  json::object full_numbers() const {
    return {{"active_sessions", active()}, {"max_sessions", settings_.capacity}};
  }

  asio::any_io_executor executor_;
  service::Operations& operations_;
  Judge& judge_;
  Settings settings_;
  Environments with_cookies_;
  std::deque<std::string> unclaimed_;  // cookies that were sent, oldest first; many never come back
  EnvironmentPtr without_cookies_;     // one for all clients that keep none
  Environments of_mcp_;
  // That of the page, and who watches it.
  EnvironmentPtr web_;
  std::optional<session::Condition> web_changes_;
};

}  // namespace vitrine::api::openenv
