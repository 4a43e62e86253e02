// SPDX-License-Identifier: Apache-2.0
#include "packages/gateway.h"

#include <sys/random.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <map>
#include <optional>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "base/base64.h"

namespace vitrine::packages {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Failure = boost::system::error_code;
template <class T>
using Task = asio::awaitable<T>;

namespace {

constexpr std::size_t kMaxOpen = 160;  // connections: more than the installations at once can open
constexpr std::size_t kMaxRequest = 16u << 10;
constexpr std::size_t kMaxHead = 64u << 10;
constexpr std::size_t kMaxPage = 64u << 20;
constexpr std::size_t kMaxPages = 128u << 20;  // of all that are in memory
constexpr int kMaxBefore = 4;                  // answers that are not the last
constexpr std::chrono::seconds kPatience{60};  // for the next bytes
constexpr std::chrono::seconds kHeadTime{10};
constexpr std::chrono::seconds kPageTime{120};
constexpr std::array kAsked{http::field::accept, http::field::range, http::field::if_none_match,
                            http::field::if_modified_since};
constexpr std::array kAnswered{http::field::content_type,  http::field::etag,
                               http::field::last_modified, http::field::cache_control,
                               http::field::accept_ranges, http::field::content_range};

std::string random_word() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string out;
  for (unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t hit = 0; (hit = text.find(from, at)) != std::string::npos;) {
    out.append(text, at, hit - at).append(to);
    at = hit + from.size();
  }
  if (at == 0) return text;
  return out.append(text, at);
}

// A path on the index's own host, in one line.
bool is_path(std::string_view target) {
  if (!target.starts_with('/') || target.starts_with("//")) return false;
  for (char c : target)
    if (c <= ' ' || c >= 127) return false;
  return true;
}

bool is_page(std::string_view type) {
  return type.find("html") != std::string_view::npos || type.find("json") != std::string_view::npos;
}

}  // namespace

std::string lead_here(std::string text, const IndexUrl& index, const std::string& here) {
  const std::string scheme = index.tls ? "https://" : "http://";
  text = replaced(std::move(text), scheme + index.authority() + "/", here + "/");
  return replaced(std::move(text), index.origin() + "/", here + "/");
}

struct Gateway::Shared {
  Shared(asio::any_io_executor on, std::string pem)
      : executor(std::move(on)), certificates(std::move(pem)) {}

  asio::any_io_executor executor;
  std::string certificates;
  std::optional<tcp::acceptor> acceptor;
  std::optional<asio::ssl::context> tls;
  std::map<std::string, IndexUrl> tickets;  // by the header that names them
  std::size_t open = 0;
  std::shared_ptr<std::size_t> pages = std::make_shared<std::size_t>(0);  // bytes in memory
  std::string here;  // "http://127.0.0.1:40123"
};

namespace {

// One request of an installation: read, checked, and what it may have.
struct Asked {
  http::request<http::empty_body> request;
  IndexUrl index;
  std::string here;
  std::shared_ptr<std::size_t> pages;
};

class Relay {
 public:
  Relay(beast::tcp_stream& client, Asked asked) : client_(client), asked_(std::move(asked)) {}

  template <class Stream>
  Task<void> run(Stream& index) {
    http::request<http::empty_body> request{asked_.request.method(), asked_.request.target(), 11};
    request.set(http::field::host, asked_.index.origin().substr(asked_.index.tls ? 8 : 7));
    request.set(http::field::authorization, asked_.index.authorization);
    request.set(http::field::user_agent, "vitrine");
    request.set(http::field::connection, "close");
    request.set(http::field::accept_encoding, "identity");
    for (http::field field : kAsked)
      if (asked_.request.count(field) > 0) request.set(field, asked_.request[field]);
    Failure failed;
    wait_for(index);
    co_await http::async_write(index, request, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return co_await refuse(client_, 502);
    std::optional<Parser> parser;
    beast::flat_buffer buffer(kMaxHead);  // also of what stands between the parts of a body
    // Before its answer an index may send others, such as early hints: they are not for us.
    for (int before = 0; !parser || parser->get().result_int() < 200; ++before) {
      if (before > kMaxBefore) co_return co_await refuse(client_, 502);
      parser.emplace();
      parser->header_limit(kMaxHead);
      parser->body_limit(boost::none);
      if (request.method() == http::verb::head) parser->skip(true);
      co_await http::async_read_header(index, buffer, *parser,
                                       asio::redirect_error(asio::use_awaitable, failed));
      if (failed) co_return co_await refuse(client_, 502);
    }
    const bool whole = is_page(parser->get()[http::field::content_type]) &&
                       parser->get().result() == http::status::ok &&
                       request.method() == http::verb::get;
    if (whole) co_return co_await send_page(index, buffer, *parser);
    co_await send_file(index, buffer, *parser);
  }

  static Task<void> refuse(beast::tcp_stream& client, unsigned status) {
    std::string text = "HTTP/1.1 " + std::to_string(status) + " " +
                       std::string(http::obsolete_reason(http::int_to_status(status))) + "\r\n";
    if (status == 401) text += "WWW-Authenticate: Basic realm=\"packages\"\r\n";
    text += "Content-Length: 0\r\nConnection: close\r\n\r\n";
    co_await write(client, std::move(text));
  }

 private:
  using Parser = http::response_parser<http::buffer_body>;

  template <class Stream>
  static void wait_for(Stream& stream) {
    beast::get_lowest_layer(stream).expires_after(kPatience);
  }

  static Task<bool> write(beast::tcp_stream& client, std::string text) {
    Failure failed;
    client.expires_after(kPatience);
    co_await asio::async_write(client, asio::buffer(text),
                               asio::redirect_error(asio::use_awaitable, failed));
    co_return !failed;
  }

  std::string head(const Parser& parser, std::optional<std::uint64_t> length) const {
    const auto& answer = parser.get();
    std::string text = "HTTP/1.1 " + std::to_string(answer.result_int()) + " x\r\n";
    const auto add = [&](std::string_view name, std::string_view value) {
      text += std::string(name) + ": " + std::string(value) + "\r\n";
    };
    for (http::field field : kAnswered)
      if (answer.count(field) > 0) add(http::to_string(field), answer[field]);
    if (answer.count(http::field::location) > 0)
      add("Location",
          lead_here(std::string(answer[http::field::location]), asked_.index, asked_.here));
    if (length) add("Content-Length", std::to_string(*length));
    return text + "Connection: close\r\n\r\n";
  }

  // The next bytes of the body, at most as many as fit; none when it is broken.
  template <class Stream>
  Task<std::optional<std::size_t>> read_some(Stream& index, beast::flat_buffer& buffer,
                                             Parser& parser) {
    Failure failed;
    wait_for(index);
    parser.get().body().data = chunk_.data();
    parser.get().body().size = chunk_.size();
    co_await http::async_read(index, buffer, parser,
                              asio::redirect_error(asio::use_awaitable, failed));
    if (failed && failed != http::error::need_buffer) co_return std::nullopt;
    co_return chunk_.size() - parser.get().body().size;
  }

  // Whole, because it says where the files are.
  template <class Stream>
  Task<void> send_page(Stream& index, beast::flat_buffer& buffer, Parser& parser) {
    const auto latest = Clock::now() + kPageTime;
    std::string page;
    struct Counted {
      std::shared_ptr<std::size_t> all;
      std::size_t mine = 0;
      explicit Counted(std::shared_ptr<std::size_t> of) : all(std::move(of)) {}
      ~Counted() { *all -= mine; }
    } counted(asked_.pages);
    while (!parser.is_done()) {
      const std::optional<std::size_t> got = co_await read_some(index, buffer, parser);
      if (!got || page.size() + *got > kMaxPage || Clock::now() > latest)
        co_return co_await refuse(client_, 502);
      *counted.all += *got;
      counted.mine += *got;
      if (*counted.all > kMaxPages) co_return co_await refuse(client_, 503);
      page.append(chunk_.data(), *got);
    }
    page = lead_here(std::move(page), asked_.index, asked_.here);
    std::string first = head(parser, page.size());
    if (co_await write(client_, std::move(first))) co_await write(client_, std::move(page));
  }

  template <class Stream>
  Task<void> send_file(Stream& index, beast::flat_buffer& buffer, Parser& parser) {
    std::optional<std::uint64_t> length;
    if (const auto given = parser.content_length()) length = *given;
    std::string text = head(parser, length);
    bool there = co_await write(client_, std::move(text));
    while (there && !parser.is_done()) {
      const std::optional<std::size_t> got = co_await read_some(index, buffer, parser);
      if (!got) {  // a reset, so that who asked does not take it for whole
        Failure ignored;
        client_.socket().set_option(asio::socket_base::linger(true, 0), ignored);
        client_.socket().close(ignored);
        co_return;
      }
      std::string part(chunk_.data(), *got);
      there = co_await write(client_, std::move(part));
    }
  }

  beast::tcp_stream& client_;
  Asked asked_;
  std::array<char, 64u << 10> chunk_{};
};

Task<void> relay_plain(beast::tcp_stream& client, Asked asked, tcp::resolver::results_type places) {
  Failure failed;
  beast::tcp_stream index(client.get_executor());
  index.expires_after(kPatience);
  co_await index.async_connect(places, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return co_await Relay::refuse(client, 502);
  const auto relay = std::make_unique<Relay>(client, std::move(asked));
  co_await relay->run(index);
}

Task<void> relay_tls(beast::tcp_stream& client, Asked asked, tcp::resolver::results_type places,
                     asio::ssl::context& tls) {
  Failure failed;
  const std::string host = asked.index.host;
  beast::ssl_stream<beast::tcp_stream> index(client.get_executor(), tls);
  index.set_verify_callback(asio::ssl::host_name_verification(host), failed);
  if (failed || SSL_set_tlsext_host_name(index.native_handle(), host.c_str()) != 1)
    co_return co_await Relay::refuse(client, 502);
  beast::get_lowest_layer(index).expires_after(kPatience);
  co_await beast::get_lowest_layer(index).async_connect(
      places, asio::redirect_error(asio::use_awaitable, failed));
  if (!failed)
    co_await index.async_handshake(asio::ssl::stream_base::client,
                                   asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return co_await Relay::refuse(client, 502);
  const auto relay = std::make_unique<Relay>(client, std::move(asked));
  co_await relay->run(index);
}

}  // namespace

namespace {

template <class Shared>
Task<void> answer(std::shared_ptr<Shared> shared, tcp::socket socket) {
  struct Open {
    std::shared_ptr<Shared> of;
    ~Open() { --of->open; }
  } open{shared};
  beast::tcp_stream client(std::move(socket));
  client.expires_after(kHeadTime);
  Failure failed;
  beast::flat_buffer buffer(kMaxRequest);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMaxRequest);
  co_await http::async_read(client, buffer, parser,
                            asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return;
  http::request<http::empty_body> request = parser.release();
  const auto ticket = shared->tickets.find(std::string(request[http::field::authorization]));
  if (ticket == shared->tickets.end()) co_return co_await Relay::refuse(client, 401);
  if (request.method() != http::verb::get && request.method() != http::verb::head)
    co_return co_await Relay::refuse(client, 405);
  if (!is_path(request.target())) co_return co_await Relay::refuse(client, 400);
  Asked asked{std::move(request), ticket->second, shared->here, shared->pages};
  tcp::resolver resolver(client.get_executor());
  const std::string host = asked.index.host;
  const std::string port = asked.index.port;
  tcp::resolver::results_type places = co_await resolver.async_resolve(
      host, port, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return co_await Relay::refuse(client, 502);
  if (asked.index.tls)
    co_await relay_tls(client, std::move(asked), std::move(places), *shared->tls);
  else co_await relay_plain(client, std::move(asked), std::move(places));
  client.socket().shutdown(tcp::socket::shutdown_both, failed);
}

template <class Shared>
Task<void> accept_all(std::shared_ptr<Shared> shared) {
  while (shared->acceptor && shared->acceptor->is_open()) {
    Failure failed;
    tcp::socket socket =
        co_await shared->acceptor->async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed == asio::error::operation_aborted) co_return;
    if (failed) {  // out of descriptors: those that are busy need a moment
      Timer pause(shared->executor, std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
      continue;
    }
    if (shared->open >= kMaxOpen) continue;  // closed at once
    ++shared->open;
    spawn(shared->executor, answer(shared, std::move(socket)), "index gateway connection");
  }
}

}  // namespace

Gateway::Gateway(asio::any_io_executor executor, std::string certificates)
    : shared_(std::make_shared<Shared>(std::move(executor), std::move(certificates))) {}

Gateway::~Gateway() {
  Failure ignored;
  if (shared_->acceptor) shared_->acceptor->close(ignored);
}

Status Gateway::open() {
  if (port_ != 0) return ok();
  Failure failed;
  shared_->tls.emplace(asio::ssl::context::tls_client);
  shared_->tls->set_verify_mode(asio::ssl::verify_peer, failed);
  if (shared_->certificates.empty()) shared_->tls->set_default_verify_paths(failed);
  else shared_->tls->add_certificate_authority(asio::buffer(shared_->certificates), failed);
  if (failed)
    return Error{.code = Code::invalid_argument,
                 .message = "the certificates of the package index cannot be read",
                 .remedy = "check pip's setting `cert`: it names a file in PEM form"};
  tcp::acceptor acceptor(shared_->executor);
  const tcp::endpoint here(asio::ip::address_v4::loopback(), 0);
  acceptor.open(here.protocol(), failed);
  if (!failed) acceptor.bind(here, failed);
  if (!failed) acceptor.listen(64, failed);
  if (failed)
    return Error{.code = Code::unavailable,
                 .message = "the way to the package index cannot be opened",
                 .remedy = "try again; the server may be out of descriptors or ports"};
  port_ = acceptor.local_endpoint().port();
  shared_->here = "http://127.0.0.1:" + std::to_string(port_);
  shared_->acceptor.emplace(std::move(acceptor));
  spawn(shared_->executor, accept_all(shared_), "index gateway");
  return ok();
}

std::shared_ptr<const Gateway::Ticket> Gateway::admit(const IndexUrl& index) {
  const std::string word = random_word();
  if (word.empty() || port_ == 0) return nullptr;
  const std::string key = "Basic " + to_base64("vitrine:" + word);
  shared_->tickets[key] = index;
  std::string url = "http://vitrine:" + word + "@127.0.0.1:" + std::to_string(port_) + index.path;
  return std::make_shared<const Ticket>(shared_, key, std::move(url));
}

Gateway::Ticket::~Ticket() { shared_->tickets.erase(key_); }

}  // namespace vitrine::packages
