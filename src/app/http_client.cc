// SPDX-License-Identifier: Apache-2.0
#include "app/http_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/fd.h"

namespace vitrine::app {

namespace {

namespace http = boost::beast::http;
using Parser = http::response_parser<http::string_body>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxLine = 64u << 20;  // an event holds at most one output limit
constexpr std::size_t kMaxBody = 512u << 20;

Error lost(std::string why) {
  return Error{.code = Code::unavailable,
               .message = "the server " + std::move(why),
               .remedy = "see its log"};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

class Connection {
 public:
  Connection(const Hooks& hooks, std::optional<std::chrono::milliseconds> timeout) : hooks_(hooks) {
    if (timeout) latest_ = Clock::now() + *timeout;
  }

  Status open(const Url& url);
  Status send(std::string_view bytes);
  Result<Response> receive();

 private:
  Status wait(short events);
  Result<bool> fill();  // false = the server closed
  Status read(Parser& parser);
  Status take(std::string_view bytes);

  const Hooks& hooks_;
  std::optional<Clock::time_point> latest_;
  Fd socket_;
  std::string buffer_;
  std::string pending_;  // of a line, or the body
  bool lines_ = false;
  std::optional<Error> stopped_;  // by what take() said
};

// Waits until the socket is ready, and handles wake-ups meanwhile.
Status Connection::wait(short events) {
  for (;;) {
    int patience = -1;
    if (latest_) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*latest_ - Clock::now());
      if (left.count() <= 0)
        return Error{.code = Code::timed_out, .message = "the server did not answer in time"};
      patience = static_cast<int>(left.count()) + 1;
    }
    pollfd watched[2] = {{socket_.get(), events, 0}, {hooks_.wake_fd, POLLIN, 0}};
    const int ready = ::poll(watched, 2, patience);
    if (ready < 0 && errno != EINTR) return Error::from_errno("waiting for the server");
    if (ready <= 0) continue;
    if (watched[1].revents != 0 && hooks_.on_wake && hooks_.on_wake() == Wake::stop)
      return Error{.code = Code::conflict, .message = "interrupted"};
    if (watched[0].revents != 0) return ok();
  }
}

Status Connection::open(const Url& url) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found) != 0)
    return Error{.code = Code::unavailable,
                 .message = "the host '" + url.host + "' cannot be resolved",
                 .remedy = "check --url or VITRINE_URL"};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, ::freeaddrinfo);
  int reason = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    socket_ = Fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) continue;
    if (::connect(socket_.get(), one->ai_addr, one->ai_addrlen) == 0) return ok();
    reason = errno;
    if (reason != EINPROGRESS) continue;
    if (Status s = wait(POLLOUT); !s) return s;
    socklen_t size = sizeof reason;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &reason, &size);
    if (reason == 0) return ok();
  }
  return Error{.code = Code::unavailable,
               .message = "no server answers at " + url.authority(),
               .remedy = "start one with `vitrine serve`, or name another with --url"};
}

Status Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) bytes.remove_prefix(static_cast<std::size_t>(put));
    else if (errno == EPIPE || errno == ECONNRESET) return ok();  // it may have answered already
    else if (errno != EAGAIN && errno != EINTR) return Error::from_errno("sending a request");
    else if (Status s = wait(POLLOUT); !s) return s;
  }
  return ok();
}

Result<bool> Connection::fill() {
  for (;;) {
    if (Status s = wait(POLLIN); !s) return std::move(s.error());
    char block[16384];
    const ssize_t got = ::recv(socket_.get(), block, sizeof block, 0);
    if (got > 0) buffer_.append(block, static_cast<std::size_t>(got));
    if (got >= 0) return got > 0;
    if (errno != EAGAIN && errno != EINTR) return lost("closed the connection");
  }
}

Status Connection::take(std::string_view bytes) {
  pending_ += bytes;
  if (!lines_) return pending_.size() > kMaxBody ? Status(lost("sent too much")) : ok();
  std::size_t start = 0;
  for (std::size_t end; (end = pending_.find('\n', start)) != std::string::npos; start = end + 1)
    if (end > start &&
        hooks_.on_line(std::string_view(pending_).substr(start, end - start)) == Wake::stop)
      return Error{.code = Code::conflict, .message = "interrupted"};
  pending_.erase(0, start);
  return pending_.size() > kMaxLine ? Status(lost("sent too long a line")) : ok();
}

// One message; what follows it stays in the buffer.
Status Connection::read(Parser& parser) {
  boost::system::error_code failed;
  while (!parser.is_done()) {
    buffer_.erase(0, parser.put(boost::asio::buffer(buffer_), failed));
    if (stopped_) return std::move(*stopped_);
    if (failed && failed != http::error::need_more) return lost("sent no HTTP");
    if (parser.is_done()) break;
    Result<bool> more = fill();
    if (!more) return std::move(more.error());
    if (*more) continue;
    parser.put_eof(failed);
    if (failed || !parser.is_done())
      return lost("closed the connection in the middle of an answer");
  }
  return ok();
}

Result<Response> Connection::receive() {
  for (;;) {
    Parser parser;
    parser.eager(true);
    parser.header_limit(65536);
    parser.body_limit(kMaxBody);
    // Streams come in chunks; their lines are handed out as they come.
    auto on_chunk = [&](std::uint64_t, std::string_view bytes, boost::system::error_code& failed) {
      lines_ = hooks_.on_line &&
               lower(parser.get()[http::field::content_type]).starts_with("application/x-ndjson");
      if (Status taken = take(bytes); !taken) {
        stopped_ = std::move(taken.error());
        failed = http::error::end_of_stream;
      }
      return bytes.size();
    };
    parser.on_chunk_body(on_chunk);
    if (Status s = read(parser); !s) return std::move(s.error());
    const auto& message = parser.get();
    if (message.result_int() >= 100 && message.result_int() < 200) continue;
    return Response{.status = static_cast<int>(message.result_int()),
                    .type = lower(message[http::field::content_type]),
                    .body = parser.chunked() ? std::move(pending_) : message.body()};
  }
}

}  // namespace

std::string Url::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == "80" ? name : name + ":" + port;
}

Result<Url> parse_url(std::string_view text) {
  const Error wrong{
      .code = Code::invalid_argument,
      .message = "url '" + std::string(text) + "' is not of the form http://host:port",
      .remedy =
          "use for example http://127.0.0.1:8000; for https, use a tunnel "
          "or a local proxy"};
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme)) return wrong;
  text.remove_prefix(kScheme.size());
  Url url;
  if (const auto slash = text.find('/'); slash != text.npos) {
    url.prefix = text.substr(slash);
    while (url.prefix.ends_with('/')) url.prefix.pop_back();
    text = text.substr(0, slash);
  }
  if (const auto at = text.rfind('@'); at != text.npos) {
    const std::string_view user = text.substr(0, at);
    const auto colon = user.find(':');
    url.token = colon == user.npos || colon + 1 == user.size() ? user.substr(0, colon)
                                                               : user.substr(colon + 1);
    text = text.substr(at + 1);
  }
  const auto bracket = text.rfind(']');
  const auto colon = text.rfind(':');
  if (colon != text.npos && (bracket == text.npos || colon > bracket)) {
    url.port = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  if (text.size() > 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  url.host = text;
  const auto plain = [](const std::string& part, std::string_view forbidden) {
    return std::all_of(part.begin(), part.end(), [&](char c) {
      return c > ' ' && c < 127 && forbidden.find(c) == forbidden.npos;
    });
  };
  int port = 0;
  const auto [end, error] =
      std::from_chars(url.port.data(), url.port.data() + url.port.size(), port);
  if (url.host.empty() || !plain(url.host, "?#/@") || !plain(url.prefix, "?#") ||
      !plain(url.token, "") || error != std::errc{} || end != url.port.data() + url.port.size() ||
      port < 1 || port > 65535)
    return wrong;
  return url;
}

Result<Response> exchange(const Server& server, const Request& request, const Hooks& hooks) {
  Connection connection(hooks, request.timeout);
  if (Status s = connection.open(server.url); !s) return std::move(s.error());
  std::string head = request.method + " " + server.url.prefix + request.target +
                     " HTTP/1.1\r\nHost: " + server.url.authority() +
                     "\r\nConnection: close\r\nUser-Agent: vitrine\r\n";
  if (hooks.on_line) head += "Accept: application/x-ndjson\r\n";
  const std::string& token = server.token.empty() ? server.url.token : server.token;
  if (!token.empty()) head += "Authorization: Bearer " + token + "\r\n";
  if (!request.body.empty()) head += "Content-Type: application/json\r\n";
  if (request.method != "GET")
    head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  if (Status s = connection.send(head + "\r\n" + request.body); !s) return std::move(s.error());
  return connection.receive();
}

}  // namespace vitrine::app
