// SPDX-License-Identifier: Apache-2.0
// A small blocking HTTP/1.1 client for our own server: one connection per request.
//
// Threading: one thread. Failure: `unavailable` if the server cannot be reached or goes away,
// `timed_out`, `conflict` if a hook said to stop. A status of 400 or more is a Response.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vitrine::app {

struct Url {
  std::string host;
  std::string port = "80";
  std::string prefix;  // of every path; no slash at its end
  std::string token;   // http://TOKEN@host

  std::string authority() const;  // for the Host header
};
// `invalid_argument` for what is not http://host[:port][/path].
Result<Url> parse_url(std::string_view text);

struct Server {
  Url url;
  std::string token;  // empty = none
};

struct Request {
  std::string method = "GET";
  std::string target;
  std::string body = {};
  std::optional<std::chrono::milliseconds> timeout = {};  // for the whole of it
};

struct Response {
  int status = 0;
  std::string type;
  std::string body;  // empty if the lines were handed out
};

enum class Wake { keep_on, stop };

// Hooks during the request: the lines of a stream as they come, and another descriptor to watch.
struct Hooks {
  std::function<Wake(std::string_view line)> on_line = {};  // set = a stream of lines is requested
  int wake_fd = -1;
  std::function<Wake()> on_wake = {};
};

Result<Response> exchange(const Server& server, const Request& request, const Hooks& hooks = {});

}  // namespace vitrine::app
