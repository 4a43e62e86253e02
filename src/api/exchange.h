// SPDX-License-Identifier: Apache-2.0
// One HTTP request and its answer, as a route sees it.
//
// Exactly one answer is sent: respond(), or stream() then write() then finish(), or upgrade(). A route that sends
// none is answered 500 by the server. Threading: the front's one thread.
// Trust: everything of the request was chosen by the client; the body is read only on demand and
// never beyond the limit given.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/identity.h"

namespace vitrine::api {

namespace asio = boost::asio;
namespace http = boost::beast::http;
template <class T>
using Task = asio::awaitable<T>;

using Header = std::pair<std::string, std::string>;

class WebSocket;

class Exchange {
 public:
  virtual ~Exchange() = default;

  http::verb method{};
  std::string path;                          // decoded, starts with '/'
  std::map<std::string, std::string> query;  // decoded; of a repeated name the last counts
  std::vector<std::string> parameters;       // of the route's pattern
  const Identity* identity = nullptr;        // who asks; never null in a route
  std::string session_id;                    // for the log, once known
  std::string execution_id;

  virtual std::string header(std::string_view name) const = 0;  // "" if absent

  // The whole body. `over_limit` beyond `limit` bytes, `unavailable` if the client left.
  virtual Task<Result<std::string>> body(std::size_t limit) = 0;
  // The next part of the body, "" at its end.
  virtual Task<Result<std::string>> body_part() = 0;
  virtual std::optional<std::uint64_t> body_size() const = 0;  // if announced

  virtual Task<void> respond(http::status status, std::string_view type, std::string body,
                             std::vector<Header> headers = {}) = 0;
  // With `size` known a Content-Length is sent, else chunks.
  virtual Task<void> stream(http::status status, std::string_view type,
                            std::optional<std::uint64_t> size,
                            std::vector<Header> headers = {}) = 0;
  virtual Task<bool> write(std::string_view part) = 0;  // false once the client is gone
  virtual Task<void> finish() = 0;

  // Returns when the client has closed the connection.
  virtual Task<void> gone() = 0;
  virtual bool responded() const = 0;

  // For requests that ask for a WebSocket: takes the connection over, as the one answer. Null if the
  // request is no such one or its handshake failed; it was answered then.
  virtual bool wants_websocket() const = 0;
  virtual Task<std::shared_ptr<WebSocket>> upgrade(std::size_t max_message) = 0;
};

}  // namespace vitrine::api
