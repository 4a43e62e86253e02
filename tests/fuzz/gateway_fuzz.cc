// SPDX-License-Identifier: Apache-2.0
// The gateway to an index with credentials, whole and over loopback: what an index answers, and what an
// installation asks. Neither may learn the other's secret or speak for us. Also its messages with the front.
//
// Input: one byte (0 = an answer to a GET, 1 = to a HEAD, 2 = a request, 3 = a URL, 4 = a message from the
// front, 5 = one to it), one byte (where an answer is cut in two), then the bytes. "INDEX" in them becomes the port of the index, which has as many digits.
#include "gateway/gateway.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <set>
#include <string>

#include "base/packet.h"
#include "tests/fuzz/input.h"
#include "wire/gateway.h"

using vitrine::fuzz::require;
using namespace vitrine;
namespace asio = boost::asio;
namespace messages = vitrine::wire::gateway;
using asio::ip::tcp;
using Failure = boost::system::error_code;

namespace {

constexpr const char* kTicket = "dml0cmluZTp0aWNrZXQ=";  // vitrine:ticket
constexpr const char* kSecret = "dXNlcjpzZWNyZXQ=";      // user:secret
constexpr std::size_t kMaxInput = 256u << 10;            // less than what sockets hold
constexpr std::chrono::seconds kPatience{5};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The lines of a head, each checked: one name that may pass, no second line in it, no name twice.
void check_head(std::string_view head, const std::set<std::string>& names) {
  std::set<std::string> seen;
  std::size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const std::size_t end = head.find("\r\n", at);
    require(end != std::string_view::npos, "each line of a head ends");
    const std::string_view line = head.substr(at, end - at);
    require(line.find_first_of("\r\n") == std::string_view::npos, "a line is one line");
    require(line.find('\0') == std::string_view::npos, "a line is text");
    const std::string name(line.substr(0, line.find(':')));
    require(names.contains(name), "only headers pass that are named");
    require(seen.insert(name).second, "no header passes twice");
    at = end + 2;
  }
}

class Bench {
 public:
  Bench() {
    tcp::acceptor listener(io_, {asio::ip::address_v4::loopback(), 0});
    port_ = listener.local_endpoint().port();
    Result<FdPair> pair = make_socketpair();
    front_ = std::move(pair->first);
    auto made = gateway::Gateway::make(io_, std::move(pair->second), Fd(listener.release()), "");
    require(static_cast<bool>(made), "the gateway starts");
    gateway_ = std::move(*made);
    gateway_->serve();
    origin_ = "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    const std::string url = "http://user:secret@" + origin_.substr(7) + "/simple";
    const messages::Admit admit{std::string("Basic ") + kTicket, *parse_index_url(url)};
    require(static_cast<bool>(send_packet(front_.get(), messages::encode_request(admit))),
            "the gateway gets a ticket");
  }

  std::string port() const { return origin_.substr(origin_.rfind(':') + 1); }

  void answer(const std::string& method, std::string bytes, std::size_t cut) {
    request_ =
        method + " /simple/x/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + key_ + "\r\n\r\n";
    exchange(std::move(bytes), cut);
    require(!asked_.empty(), "a request with a ticket reaches the index");
    check_asked();
    check_got(method == "HEAD");
  }

  void request(const std::string& bytes) {
    const std::size_t line = bytes.find("\r\n");
    request_ = line == std::string::npos ? bytes
                                         : bytes.substr(0, line) + "\r\nAuthorization: Basic " +
                                               key_ + bytes.substr(line);
    exchange("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi", 0);
    if (!asked_.empty()) check_asked();
    check_got(asked_.starts_with("HEAD "));
  }

 private:
  using Socket = tcp::socket;

  void exchange(std::string bytes, std::size_t cut) {
    asked_.clear();
    got_.clear();
    bool client_done = false;
    bool index_done = false;
    const auto flag = [](bool& done) { return [&done](std::exception_ptr) { done = true; }; };
    asio::co_spawn(io_, serve(std::move(bytes), cut), flag(index_done));
    asio::co_spawn(io_, ask(), flag(client_done));
    io_.restart();
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    while (!client_done && std::chrono::steady_clock::now() < latest)
      io_.run_one_for(std::chrono::milliseconds(100));
    require(client_done, "whoever asks gets an answer, or is told that there is none");
    acceptor_.cancel();  // of a request that was refused
    while (!index_done && std::chrono::steady_clock::now() < latest)
      io_.run_one_for(std::chrono::milliseconds(100));
    require(index_done, "nothing is kept open behind it");
    io_.poll();
  }

  asio::awaitable<void> serve(std::string bytes, std::size_t cut) {
    Failure failed;
    Socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(asked_), "\r\n\r\n",
                                    asio::redirect_error(asio::use_awaitable, failed));
    cut = std::min(cut, bytes.size());
    co_await asio::async_write(socket, asio::buffer(bytes.data(), cut),
                               asio::redirect_error(asio::use_awaitable, failed));
    if (!failed)
      co_await asio::async_write(socket, asio::buffer(bytes.data() + cut, bytes.size() - cut),
                                 asio::redirect_error(asio::use_awaitable, failed));
    socket.shutdown(Socket::shutdown_send, failed);
    std::string rest;
    co_await asio::async_read(socket, asio::dynamic_buffer(rest),
                              asio::redirect_error(asio::use_awaitable, failed));
    require(rest.empty(), "an index is asked one thing on a connection");
  }

  asio::awaitable<void> ask() {
    Failure failed;
    Socket socket(io_);
    const tcp::endpoint there(asio::ip::address_v4::loopback(), port_);
    co_await socket.async_connect(there, asio::redirect_error(asio::use_awaitable, failed));
    require(!failed, "the gateway can be reached");
    co_await asio::async_write(socket, asio::buffer(request_),
                               asio::redirect_error(asio::use_awaitable, failed));
    socket.shutdown(Socket::shutdown_send, failed);
    co_await asio::async_read(socket, asio::dynamic_buffer(got_),
                              asio::redirect_error(asio::use_awaitable, failed));
    socket.set_option(asio::socket_base::linger(true, 0), failed);
  }

  void check_asked() const {
    require(asked_.starts_with("GET /") || asked_.starts_with("HEAD /"), "only these pass");
    require(!asked_.starts_with("GET //") && !asked_.starts_with("HEAD //"), "to its own host");
    require(asked_.find("\r\n\r\n") == asked_.size() - 4, "a request has no body");
    const std::string line = asked_.substr(0, asked_.find("\r\n"));
    require(line.ends_with(" HTTP/1.1"), "a request line is one");
    require(std::count(line.begin(), line.end(), ' ') == 2, "a request line has three parts");
    require(asked_.find(key_) == std::string::npos, "the index sees no ticket");
    require(asked_.find(kSecret) != std::string::npos, "the index sees its credentials");
    static const std::set<std::string> kNames{"Host",       "Authorization",   "User-Agent",
                                              "Connection", "Accept-Encoding", "Accept",
                                              "Range",      "If-None-Match",   "If-Modified-Since"};
    check_head(asked_.substr(0, asked_.size() - 2), kNames);
  }

  void check_got(bool head_only) const {
    if (got_.empty()) return;
    require(got_.starts_with("HTTP/1.1 ") && got_.size() > 13, "an answer begins as one");
    const int status = std::atoi(got_.substr(9, 3).c_str());
    require(status >= 200 && status <= 999 && got_[12] == ' ', "an answer is a last one");
    const std::size_t end = got_.find("\r\n\r\n");
    require(end != std::string::npos, "an answer has a head");
    const std::string head = got_.substr(0, end + 2);
    static const std::set<std::string> kNames{
        "Content-Type",  "ETag",     "Last-Modified",  "Cache-Control", "Accept-Ranges",
        "Content-Range", "Location", "Content-Length", "Connection",    "WWW-Authenticate"};
    check_head(head, kNames);
    const auto value_of = [&](const std::string& name) {
      const std::size_t at = head.find("\r\n" + name + ": ");
      const std::size_t from = at + name.size() + 4;
      return at == std::string::npos ? "" : head.substr(from, head.find("\r\n", from) - from);
    };
    require(value_of("Location").find(origin_ + "/") == std::string::npos,
            "a redirection leads here");
    const std::string body = got_.substr(end + 4);
    if (head_only) require(body.empty(), "an answer to HEAD has no body");
    if (const std::string length = value_of("Content-Length"); !length.empty() && !head_only)
      require(body.size() <= std::strtoull(length.c_str(), nullptr, 10),
              "a body is not longer than it says");
    const std::string type = value_of("Content-Type");
    if (status == 200 &&
        (type.find("html") != std::string::npos || type.find("json") != std::string::npos))
      require(body.find(origin_ + "/") == std::string::npos, "a page leads here");
  }

  asio::io_context io_{1};
  Fd front_;
  std::unique_ptr<gateway::Gateway> gateway_;
  std::uint16_t port_ = 0;
  tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};  // the index's
  std::string origin_;
  const std::string key_ = kTicket;
  std::string request_;
  std::string asked_;  // of the index
  std::string got_;    // by the client
};

void check_url(const std::string& text) {
  (void)check_index_hosts({text});
  const auto url = parse_index_url(text);
  if (!url) return;
  const auto again = parse_index_url(url->plain());
  require(again && again->plain() == url->plain(), "a URL without credentials means the same");
  require(again->authorization.empty(), "a plain URL has no credentials");
  require(url->authority().ends_with(":" + url->port), "there is a port");
}

// What is accepted is within its limits, and means the same when it is sent on.
template <class T>
void check_message(Result<T> got, std::string (*encode)(const T&), const std::string& packet) {
  if (!got) return require(got.error().code == Code::invalid_argument, "bad is a bad argument");
  require(encode(*got) == packet, "it means the same");
  require(packet.size() <= messages::kMaxPacket, "a message is bounded");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* bench = new Bench;
  vitrine::fuzz::Input in(data, std::min(size, kMaxInput));
  const std::uint8_t kind = in.byte() % 6;
  const std::uint8_t cut = in.byte();
  const std::string bytes(in.all());
  if (kind == 5) check_message(messages::decode_reply(bytes), messages::encode_reply, bytes);
  else if (kind == 4)
    check_message(messages::decode_request(bytes), messages::encode_request, bytes);
  else if (kind == 3) check_url(bytes);
  else if (kind == 2) bench->request(bytes);
  else bench->answer(kind == 1 ? "HEAD" : "GET", replaced(bytes, "INDEX", bench->port()), cut);
  return 0;
}
