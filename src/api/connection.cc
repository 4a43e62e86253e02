// SPDX-License-Identifier: Apache-2.0
#include "api/connection.h"

#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "api/gate.h"
#include "api/problem.h"
#include "api/target.h"
#include "api/websocket_stream.h"
#include "base/log.h"
#include "service/async.h"

namespace vitrine::api {

namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t kMaxHeader = 16 * 1024;
constexpr std::chrono::seconds kHeaderTime{10};
constexpr std::chrono::seconds kIdleTime{60};
constexpr std::chrono::seconds kBodyTime{30};  // without a byte of progress
constexpr std::size_t kBodyRate = 1024;        // bytes per second at least, beyond that time
constexpr std::chrono::seconds kWriteTime{60};
// A client that is refused while it sends would find a reset in place of its answer, if we closed at
// once: so much more is read and thrown away.
constexpr std::chrono::seconds kLingerTime{2};
constexpr std::size_t kLingerBytes = 64u << 20;

auto token_of(error_code& failed) { return asio::redirect_error(asio::use_awaitable, failed); }

std::string names_of(const std::vector<http::verb>& verbs) {
  std::string list;
  for (http::verb verb : verbs) {
    list += (list.empty() ? "" : ", ") + std::string(http::to_string(verb));
    if (verb == http::verb::get) list += ", HEAD";
  }
  return list;
}

}  // namespace

Task<bool> Connection::read_header() {
  parser_.emplace();
  parser_->header_limit(kMaxHeader);
  parser_->body_limit(boost::none);
  error_code failed = http::error::need_more;
  // A new connection must speak soon; one that is kept may be silent for longer.
  if (buffer_.size() == 0) {
    stream_.expires_after(kIdleTime);
    error_code lost;
    const auto space = buffer_.prepare(kPart);
    const std::size_t got = co_await stream_.async_read_some(space, token_of(lost));
    if (lost) co_return false;
    buffer_.commit(got);
    // Most headers come in one piece. One that came with the request before it is read below, where
    // other connections have their turn.
    parse_received(failed);
  }
  if (failed == http::error::need_more) {
    stream_.expires_after(kHeaderTime);
    failed = {};
    co_await http::async_read_header(stream_, buffer_, *parser_, token_of(failed));
  }
  if (!failed) co_return true;
  if (failed == http::error::end_of_stream || failed == beast::error::timeout) co_return false;
  method = http::verb::unknown;
  keep_ = false;
  head_ = false;
  status_ = 0;
  unread_ = true;
  const bool large = failed == http::error::header_limit;
  const http::status status =
      large ? http::status::request_header_fields_too_large : http::status::bad_request;
  co_await api::respond(*this, make_problem(status, large ? "header_too_large" : "bad_request",
                                            "the request is not valid HTTP: " + failed.message(),
                                            "send a well-formed HTTP/1.1 request"));
  co_return false;
}

Task<void> Connection::answer() {
  const auto& request = parser_->get();
  keep_ = request.keep_alive() && !traffic_.stopping;
  method = request.method();
  head_ = method == http::verb::head;
  status_ = 0;
  chunked_ = false;
  complete_ = false;
  session_id.clear();
  execution_id.clear();
  identity = nullptr;
  std::optional<Target> target = parse_target(request.target());
  path = target ? std::move(target->path) : "";
  query = target ? std::move(target->query) : std::map<std::string, std::string>{};
  Router::Match match;
  if (target) match = traffic_.router.find(method, path);
  const auto begun = std::chrono::steady_clock::now();
  ++traffic_.busy;
  const ServerConfig& config = traffic_.config;
  const Access access = match.route == nullptr ? Access::ordinary : match.route->access;
  std::optional<Problem> problem = refuse_form(request, target, access, config.hosts);
  const bool doubtful = problem.has_value();
  if (doubtful) {
    keep_ = false;
  } else {
    Sender sender = admit(request, access, config.identities,
                          config.token_everywhere ? Tokens::everywhere : Tokens::for_listings);
    identity = sender.identity;
    problem = std::move(sender.refusal);
  }
  if (!problem && !target)
    problem = Problem{.status = http::status::bad_request,
                      .code = "bad_path",
                      .detail = "the path or the query is not well-formed",
                      .remedy = "encode them as RFC 3986 says: % as %25, no NUL"};
  if (!problem && match.route == nullptr) {
    problem = not_found();
    if (!match.allowed.empty())
      problem = Problem{.status = http::status::method_not_allowed,
                        .code = "method_not_allowed",
                        .detail = "this route does not support that method",
                        .remedy = "use " + names_of(match.allowed) + "; see /openapi.json",
                        .headers = {{"Allow", names_of(match.allowed)}}};
  }
  body_bytes_ = 0;
  waits_for_continue_ = request.version() >= 11 && beast::iequals(header("Expect"), "100-continue");
  if (problem) {
    keep_ = keep_ && parser_->is_done();
    co_await api::respond(*this, *problem);
  } else {
    parameters = std::move(match.parameters);
    try {
      co_await match.route->handler(*this);
    } catch (...) {
      log(Level::error, "front",
          std::string(match.route->pattern) + " threw: " + describe(std::current_exception()));
      alive_ = alive_ && !responded();
    }
    if (!responded())
      co_await api::respond(*this, make_problem(http::status::internal_server_error, "internal",
                                                "an internal error of the server",
                                                "try again; the server's log has the details"));
  }
  if (websocket_) {
    websocket_->begin_close(WebSocket::Close::normal, "");
    traffic_.websockets.erase(websocket_.get());
  } else {
    --traffic_.busy;
  }
  // An unread body would be taken for the next request.
  if (!complete_ || !parser_->is_done()) keep_ = false;
  unread_ = doubtful || !parser_->is_done() || (!keep_ && buffer_.size() > 0);
  traffic_.log(
      {.method = method,
       .route = match.route == nullptr ? std::string_view{} : match.route->pattern,
       .status = status_,
       .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(),
       .session = session_id,
       .execution = execution_id});
}

Task<void> Connection::run() {
  error_code ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  stream_.socket().non_blocking(true, ignored);
  while (alive_ && co_await read_header()) {
    co_await answer();
    if (!keep_) break;
  }
  if (websocket_) co_return;  // has the socket
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  if (alive_ && unread_) co_await linger();
}

Task<void> Connection::linger() {
  std::string block(kPart, '\0');
  stream_.expires_after(kLingerTime);
  error_code failed;
  for (std::size_t total = 0; !failed && total < kLingerBytes;)
    total += co_await stream_.async_read_some(asio::buffer(block), token_of(failed));
}

void Connection::parse_received(error_code& failed) {
  failed = http::error::need_more;
  if (buffer_.size() > 0) buffer_.consume(parser_->put(buffer_.data(), failed));
}

Task<Result<std::string>> Connection::body_part() {
  if (parser_->is_done()) co_return std::string();
  if (std::exchange(waits_for_continue_, false) && !co_await send("HTTP/1.1 100 Continue\r\n\r\n"))
    co_return Error{.code = Code::unavailable,
                    .message = "the client disconnected",
                    .remedy = "send the request again"};
  if (body_bytes_ == 0) body_began_ = std::chrono::steady_clock::now();
  for (;;) {
    // Most bodies are far smaller than a part may be, and say so.
    const auto left = parser_->content_length_remaining();
    std::string part(left ? std::min<std::uint64_t>(kPart, *left) : kPart, '\0');
    auto& body = parser_->get().body();
    body.data = part.data();
    body.size = part.size();
    error_code failed;
    parse_received(failed);  // a short body comes with its header
    if (failed == http::error::need_more) {
      const auto paced = body_began_ + kBodyTime + std::chrono::seconds(body_bytes_ / kBodyRate);
      stream_.expires_at(std::min(std::chrono::steady_clock::now() + kBodyTime, paced));
      failed = {};
      co_await http::async_read_some(stream_, buffer_, *parser_, token_of(failed));
    }
    if (failed == http::error::need_buffer) failed = {};
    if (failed) {
      keep_ = false;
      if (failed == beast::error::timeout)
        co_return Error{.code = Code::timed_out,
                        .message = "the body did not arrive in time",
                        .remedy =
                            "send the request again, with no pause of 30 s within it and no "
                            "slower than 1 KiB per second"};
      co_return Error{.code = Code::invalid_argument,
                      .message = "the body is not well-formed: " + failed.message(),
                      .remedy = "send as many bytes as Content-Length says, or well-formed chunks"};
    }
    part.resize(part.size() - body.size);
    body_bytes_ += part.size();
    if (!part.empty() || parser_->is_done()) co_return part;
  }
}

namespace {

Error too_large() {
  return Error{.code = Code::over_limit,
               .message = "the body is too large",
               .remedy = "send less, or upload it as a file"};
}

}  // namespace

Task<Result<std::string>> Connection::body(std::size_t limit) {
  if (auto size = body_size(); size && *size > limit) co_return too_large();
  std::string whole;
  for (;;) {
    Result<std::string> part = co_await body_part();
    if (!part) co_return std::move(part.error());
    if (part->empty()) co_return whole;
    if (whole.size() + part->size() > limit) co_return too_large();
    if (whole.empty()) whole = std::move(*part);
    else whole += *part;
    if (parser_->is_done()) co_return whole;
  }
}

std::string Connection::start_line(http::status status, std::string_view type,
                                   const std::vector<Header>& headers) const {
  std::string out = "HTTP/1.1 " + std::to_string(static_cast<int>(status)) + " " +
                    std::string(http::obsolete_reason(status)) + "\r\n";
  if (!type.empty()) out += "Content-Type: " + std::string(type) + "\r\n";
  // A page of ours inside a foreign one could be clicked without being seen.
  if (type.starts_with("text/html"))
    out += "X-Frame-Options: DENY\r\nContent-Security-Policy: frame-ancestors 'none'\r\n";
  for (const auto& [name, value] : headers) {
    if (value.find_first_of("\r\n") != std::string::npos) continue;
    out += name + ": " + value + "\r\n";
  }
  if (!keep_) out += "Connection: close\r\n";
  return out;
}

Task<bool> Connection::send(std::string_view bytes) {
  stream_.expires_after(kWriteTime);
  error_code failed;
  co_await asio::async_write(stream_, asio::buffer(bytes), token_of(failed));
  if (failed) alive_ = keep_ = false;
  co_return !failed;
}

Task<void> Connection::respond(http::status status, std::string_view type, std::string body,
                               std::vector<Header> headers) {
  if (responded()) co_return;
  // An unread body cannot be followed by another request.
  if (parser_ && !parser_->is_done()) keep_ = false;
  status_ = static_cast<int>(status);
  std::string out = start_line(status, type, headers);
  if (status != http::status::no_content)
    out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  out += "\r\n";
  if (!head_) out += body;
  // The socket takes most answers at once; the rest waits for the client.
  std::string_view rest = out;
  error_code full;
  if (stream_.socket().non_blocking())
    rest.remove_prefix(stream_.socket().write_some(asio::buffer(rest), full));
  complete_ = rest.empty() || co_await send(rest);
}

Task<void> Connection::stream(http::status status, std::string_view type,
                              std::optional<std::uint64_t> size, std::vector<Header> headers) {
  if (responded()) co_return;
  if (parser_ && !parser_->is_done()) keep_ = false;
  status_ = static_cast<int>(status);
  chunked_ = !size;
  if (chunked_ && parser_->get().version() < 11) {
    chunked_ = false;
    keep_ = false;
  }
  std::string out = start_line(status, type, headers);
  if (size) out += "Content-Length: " + std::to_string(*size) + "\r\n";
  if (chunked_) out += "Transfer-Encoding: chunked\r\n";
  co_await send(out + "\r\n");
}

Task<bool> Connection::write(std::string_view part) {
  if (!alive_) co_return false;
  if (part.empty() || head_) co_return true;
  if (!chunked_) co_return co_await send(part);
  char size[20];
  const int digits = std::snprintf(size, sizeof size, "%zx\r\n", part.size());
  std::string out(size, static_cast<std::size_t>(digits));
  out += part;
  out += "\r\n";
  co_return co_await send(out);
}

Task<void> Connection::finish() {
  complete_ = alive_ && (!chunked_ || head_ || co_await send("0\r\n\r\n"));
}

Task<std::shared_ptr<WebSocket>> Connection::upgrade(std::size_t max_message) {
  if (responded()) co_return nullptr;
  if (!wants_websocket() || buffer_.size() > 0) {
    if (buffer_.size() > 0) keep_ = false;  // what came early may be frames, not a request
    const std::vector<Header> headers{{"Upgrade", "websocket"}, {"Connection", "Upgrade"}};
    Problem problem = make_problem(http::status::upgrade_required, "websocket_needed",
                                   "this route supports WebSocket only",
                                   "send a WebSocket handshake, and nothing before its answer");
    problem.headers = headers;
    co_await api::respond(*this, problem);
    co_return nullptr;
  }
  const http::request<http::empty_body> request(parser_->get().base());
  keep_ = alive_ = false;
  status_ = static_cast<int>(http::status::switching_protocols);
  auto websocket = std::make_shared<WebSocketStream>(std::move(stream_), max_message);
  if (!co_await websocket->accept(request)) co_return nullptr;
  complete_ = true;
  // Those who stop the server do not wait for it to end by itself.
  --traffic_.busy;
  websocket_ = websocket;
  traffic_.websockets.emplace(websocket.get(), identity);
  co_return websocket;
}

Task<void> Connection::gone() {
  for (;;) {
    error_code failed;
    co_await stream_.socket().async_wait(tcp::socket::wait_read, token_of(failed));
    if (failed) co_return;
    char byte = 0;
    const ssize_t got = ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      alive_ = keep_ = false;
      co_return;
    }
    // A pipelined request waits its turn: it proves that the client is there, and we stop looking.
    asio::steady_timer never(stream_.get_executor(), asio::steady_timer::time_point::max());
    co_await never.async_wait(token_of(failed));
    co_return;
  }
}

}  // namespace vitrine::api
