// SPDX-License-Identifier: Apache-2.0
// What the connections of a server share: how they are to behave, where their requests go, and how many
// of them are busy.
//
// Ownership: the server's, which outlives its connections. Threading: the front's one thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "api/identities.h"
#include "api/router.h"

namespace vitrine::api {

class WebSocketStream;

struct ServerConfig {
  Identities identities;
  bool token_everywhere = false;  // not only for listings
  std::set<std::string> hosts;    // exact values of Host that are ours; empty = any
  std::size_t max_connections = 4096;
};

struct Handled {
  http::verb method{};
  std::string_view route;  // pattern, "" if none matched
  int status = 0;
  double seconds = 0;
  std::string_view session;
  std::string_view execution;
};

struct ServerState {
  const Router& router;
  ServerConfig config;
  std::function<void(const Handled&)> log;
  std::size_t busy = 0;  // requests that are being answered; not those that became WebSockets
  std::map<WebSocketStream*, const Identity*> websockets = {};  // and who opened them
  bool stopping = false;                                        // connections are not kept any more
};

}  // namespace vitrine::api
