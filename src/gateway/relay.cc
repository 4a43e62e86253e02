// SPDX-License-Identifier: Apache-2.0
#include "gateway/relay.h"

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <memory>
#include <optional>

namespace vitrine::gateway {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Failure = boost::system::error_code;
template <class T>
using Task = asio::awaitable<T>;

namespace {

constexpr std::size_t kMaxHead = 64u << 10;
constexpr std::size_t kMaxPage = 64u << 20;
constexpr std::size_t kMaxPages = 128u << 20;     // all pages in memory
constexpr int kMaxInterim = 4;                    // 1xx answers before the final one
constexpr std::chrono::seconds kIdleTimeout{60};  // for the next bytes
constexpr std::chrono::seconds kPageTimeout{120};
constexpr std::array kRequestHeaders{http::field::accept, http::field::range,
                                     http::field::if_none_match, http::field::if_modified_since};
constexpr std::array kAnswerHeaders{http::field::content_type,  http::field::etag,
                                    http::field::last_modified, http::field::cache_control,
                                    http::field::accept_ranges, http::field::content_range};

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

bool is_page(std::string_view type) {
  return type.find("html") != std::string_view::npos || type.find("json") != std::string_view::npos;
}

Task<bool> write(beast::tcp_stream& client, std::string text) {
  Failure failed;
  client.expires_after(kIdleTimeout);
  co_await asio::async_write(client, asio::buffer(text),
                             asio::redirect_error(asio::use_awaitable, failed));
  co_return !failed;
}

class Relay {
 public:
  Relay(beast::tcp_stream& client, RelayRequest request)
      : client_(client), request_(std::move(request)) {}

  template <class Stream>
  Task<void> run(Stream& index) {
    http::request<http::empty_body> request{request_.request.method(), request_.request.target(),
                                            11};
    request.set(http::field::host, request_.index.origin().substr(request_.index.tls ? 8 : 7));
    request.set(http::field::authorization, request_.index.authorization);
    request.set(http::field::user_agent, "vitrine");
    request.set(http::field::connection, "close");
    request.set(http::field::accept_encoding, "identity");
    for (http::field field : kRequestHeaders)
      if (request_.request.count(field) > 0) request.set(field, request_.request[field]);
    Failure failed;
    extend(index);
    co_await http::async_write(index, request, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return co_await refuse(client_, 502);
    std::optional<Parser> parser;
    beast::flat_buffer buffer(kMaxHead);  // also bounds chunk headers and trailers
    // An index may send interim answers, such as early hints: they are dropped.
    for (int interim = 0; !parser || parser->get().result_int() < 200; ++interim) {
      if (interim > kMaxInterim) co_return co_await refuse(client_, 502);
      parser.emplace();
      parser->header_limit(kMaxHead);
      parser->body_limit(boost::none);
      if (request.method() == http::verb::head) parser->skip(true);
      co_await http::async_read_header(index, buffer, *parser,
                                       asio::redirect_error(asio::use_awaitable, failed));
      if (failed) co_return co_await refuse(client_, 502);
    }
    const bool rewritten = is_page(parser->get()[http::field::content_type]) &&
                           parser->get().result() == http::status::ok &&
                           request.method() == http::verb::get;
    if (rewritten) co_return co_await send_page(index, buffer, *parser);
    co_await send_file(index, buffer, *parser);
  }

 private:
  using Parser = http::response_parser<http::buffer_body>;

  template <class Stream>
  static void extend(Stream& stream) {
    beast::get_lowest_layer(stream).expires_after(kIdleTimeout);
  }

  std::string head(const Parser& parser, std::optional<std::uint64_t> length) const {
    const auto& answer = parser.get();
    std::string text = "HTTP/1.1 " + std::to_string(answer.result_int()) + " x\r\n";
    const auto add = [&](std::string_view name, std::string_view value) {
      text += std::string(name) + ": " + std::string(value) + "\r\n";
    };
    for (http::field field : kAnswerHeaders)
      if (answer.count(field) > 0) add(http::to_string(field), answer[field]);
    if (answer.count(http::field::location) > 0)
      add("Location", rewrite_links(std::string(answer[http::field::location]), request_.index,
                                    request_.own_origin));
    if (length) add("Content-Length", std::to_string(*length));
    return text + "Connection: close\r\n\r\n";
  }

  // The next bytes of the body, in chunk_; nullopt when the body is broken.
  template <class Stream>
  Task<std::optional<std::size_t>> read_some(Stream& index, beast::flat_buffer& buffer,
                                             Parser& parser) {
    Failure failed;
    extend(index);
    parser.get().body().data = chunk_.data();
    parser.get().body().size = chunk_.size();
    co_await http::async_read(index, buffer, parser,
                              asio::redirect_error(asio::use_awaitable, failed));
    if (failed && failed != http::error::need_buffer) co_return std::nullopt;
    co_return chunk_.size() - parser.get().body().size;
  }

  // A page is read whole, because its links are rewritten and its length changes.
  template <class Stream>
  Task<void> send_page(Stream& index, beast::flat_buffer& buffer, Parser& parser) {
    const auto latest = std::chrono::steady_clock::now() + kPageTimeout;
    std::string page;
    struct Counted {
      std::shared_ptr<Load> load;
      std::size_t mine = 0;
      explicit Counted(std::shared_ptr<Load> of) : load(std::move(of)) {}
      ~Counted() { load->page_bytes -= mine; }
    } counted(request_.load);
    while (!parser.is_done()) {
      const std::optional<std::size_t> got = co_await read_some(index, buffer, parser);
      if (!got || page.size() + *got > kMaxPage || std::chrono::steady_clock::now() > latest)
        co_return co_await refuse(client_, 502);
      counted.load->page_bytes += *got;
      counted.mine += *got;
      if (counted.load->page_bytes > kMaxPages) co_return co_await refuse(client_, 503);
      page.append(chunk_.data(), *got);
    }
    page = rewrite_links(std::move(page), request_.index, request_.own_origin);
    std::string first = head(parser, page.size());
    if (co_await write(client_, std::move(first))) co_await write(client_, std::move(page));
  }

  template <class Stream>
  Task<void> send_file(Stream& index, beast::flat_buffer& buffer, Parser& parser) {
    std::optional<std::uint64_t> length;
    if (const auto given = parser.content_length()) length = *given;
    std::string text = head(parser, length);
    bool writable = co_await write(client_, std::move(text));
    while (writable && !parser.is_done()) {
      const std::optional<std::size_t> got = co_await read_some(index, buffer, parser);
      if (!got) {  // a reset, so that the client does not take the file for whole
        Failure ignored;
        client_.socket().set_option(asio::socket_base::linger(true, 0), ignored);
        client_.socket().close(ignored);
        co_return;
      }
      std::string part(chunk_.data(), *got);
      writable = co_await write(client_, std::move(part));
    }
  }

  beast::tcp_stream& client_;
  RelayRequest request_;
  std::array<char, 64u << 10> chunk_{};
};

Task<void> relay_plain(beast::tcp_stream& client, RelayRequest request,
                       tcp::resolver::results_type addresses) {
  Failure failed;
  beast::tcp_stream index(client.get_executor());
  index.expires_after(kIdleTimeout);
  co_await index.async_connect(addresses, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return co_await refuse(client, 502);
  const auto one = std::make_unique<Relay>(client, std::move(request));
  co_await one->run(index);
}

Task<void> relay_tls(beast::tcp_stream& client, RelayRequest request,
                     tcp::resolver::results_type addresses, asio::ssl::context& tls) {
  Failure failed;
  const std::string host = request.index.host;
  beast::ssl_stream<beast::tcp_stream> index(client.get_executor(), tls);
  index.set_verify_callback(asio::ssl::host_name_verification(host), failed);
  if (failed || SSL_set_tlsext_host_name(index.native_handle(), host.c_str()) != 1)
    co_return co_await refuse(client, 502);
  beast::get_lowest_layer(index).expires_after(kIdleTimeout);
  co_await beast::get_lowest_layer(index).async_connect(
      addresses, asio::redirect_error(asio::use_awaitable, failed));
  if (!failed)
    co_await index.async_handshake(asio::ssl::stream_base::client,
                                   asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return co_await refuse(client, 502);
  const auto one = std::make_unique<Relay>(client, std::move(request));
  co_await one->run(index);
}

}  // namespace

std::string rewrite_links(std::string page, const IndexUrl& index, const std::string& own_origin) {
  const std::string scheme = index.tls ? "https://" : "http://";
  page = replaced(std::move(page), scheme + index.authority() + "/", own_origin + "/");
  return replaced(std::move(page), index.origin() + "/", own_origin + "/");
}

Task<void> refuse(beast::tcp_stream& client, unsigned status) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " " +
                     std::string(http::obsolete_reason(http::int_to_status(status))) + "\r\n";
  if (status == 401) text += "WWW-Authenticate: Basic realm=\"packages\"\r\n";
  text += "Content-Length: 0\r\nConnection: close\r\n\r\n";
  co_await write(client, std::move(text));
}

Task<void> relay(beast::tcp_stream& client, RelayRequest request,
                 tcp::resolver::results_type addresses, asio::ssl::context& tls) {
  const bool encrypted = request.index.tls;
  if (encrypted) co_await relay_tls(client, std::move(request), std::move(addresses), tls);
  else co_await relay_plain(client, std::move(request), std::move(addresses));
}

}  // namespace vitrine::gateway
