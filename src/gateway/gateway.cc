// SPDX-License-Identifier: Apache-2.0
#include "gateway/gateway.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>

#include "base/packet.h"
#include "wire/gateway.h"

namespace vitrine::gateway {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Failure = boost::system::error_code;
template <class T>
using Task = asio::awaitable<T>;

namespace {

constexpr std::size_t kMaxConnections = 160;  // more than all installations at once can open
constexpr std::size_t kMaxRequest = 16u << 10;
constexpr std::chrono::seconds kRequestTimeout{10};
constexpr std::chrono::milliseconds kAcceptPause{100};

// A path on the index's own host, in one line.
bool is_path(std::string_view target) {
  if (!target.starts_with('/') || target.starts_with("//")) return false;
  for (char c : target)
    if (c <= ' ' || c >= 127) return false;
  return true;
}

// A coroutine that is allowed to fail alone: its connection ends, the others go on.
void ignore(const std::exception_ptr&) {}

}  // namespace

Gateway::Gateway(asio::io_context& io, Fd control, tcp::acceptor acceptor, asio::ssl::context tls)
    : io_(io),
      control_(io, control.release()),
      acceptor_(std::move(acceptor)),
      tls_(std::move(tls)),
      own_origin_("http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port())) {}

Result<std::unique_ptr<Gateway>> Gateway::make(asio::io_context& io, Fd control, Fd listener,
                                               const std::string& certificates) {
  Failure failed;
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_verify_mode(asio::ssl::verify_peer, failed);
  if (certificates.empty()) tls.set_default_verify_paths(failed);
  else tls.add_certificate_authority(asio::buffer(certificates), failed);
  if (failed)
    return Error{Code::invalid_argument, "the certificates of the package index cannot be read"};
  tcp::acceptor acceptor(io);
  acceptor.assign(tcp::v4(), listener.get(), failed);
  if (failed) return Error{Code::invalid_argument, "the listening socket cannot be used"};
  (void)listener.release();
  (void)acceptor.local_endpoint(failed);
  if (failed) return Error{Code::invalid_argument, "the listening socket has no address"};
  return std::unique_ptr<Gateway>(
      new Gateway(io, std::move(control), std::move(acceptor), std::move(tls)));
}

void Gateway::warm_resolver() {
  tcp::resolver resolver(io_);
  resolver.async_resolve("localhost", "1", [](const Failure&, const auto&) {});
  io_.run();
  io_.restart();
}

void Gateway::serve() {
  asio::co_spawn(io_, follow_control(), [this](const std::exception_ptr&) { io_.stop(); });
  asio::co_spawn(io_, accept_all(), [this](const std::exception_ptr&) { io_.stop(); });
}

Task<void> Gateway::follow_control() {
  for (;;) {
    Failure failed;
    co_await control_.async_wait(asio::posix::stream_descriptor::wait_read,
                                 asio::redirect_error(asio::use_awaitable, failed));
    if (failed || !read_control()) co_return;
  }
}

bool Gateway::read_control() {
  for (;;) {
    Result<Packet> packet =
        receive_packet(control_.native_handle(), wire::gateway::kMaxPacket, 0, Wait::dont);
    if (!packet) return packet.error().code == Code::timed_out;
    Result<wire::gateway::Request> request = wire::gateway::decode_request(packet->bytes);
    if (!request) return false;
    if (auto* admit = std::get_if<wire::gateway::Admit>(&*request)) {
      if (tickets_.size() >= wire::gateway::kMaxTickets) return false;
      tickets_[std::move(admit->ticket)] = std::move(admit->index);
    } else if (const auto* release = std::get_if<wire::gateway::Release>(&*request)) {
      tickets_.erase(release->ticket);
    } else {
      return false;  // a second Start
    }
  }
}

const IndexUrl* Gateway::find(const std::string& ticket) {
  auto found = tickets_.find(ticket);
  if (found == tickets_.end()) {  // its Admit may have arrived but not been read
    if (!read_control()) io_.stop();
    found = tickets_.find(ticket);
  }
  return found == tickets_.end() ? nullptr : &found->second;
}

Task<void> Gateway::accept_all() {
  for (;;) {
    Failure failed;
    tcp::socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed == asio::error::operation_aborted) co_return;
    if (failed) {  // out of descriptors: connections need a moment to end
      asio::steady_timer pause(io_, kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
      continue;
    }
    if (load_->connections >= kMaxConnections) continue;  // closed at once
    ++load_->connections;
    asio::co_spawn(io_, answer(std::move(socket)), ignore);
  }
}

Task<void> Gateway::answer(tcp::socket socket) {
  struct Counted {
    std::shared_ptr<Load> load;
    ~Counted() { --load->connections; }
  } counted{load_};
  beast::tcp_stream client(std::move(socket));
  client.expires_after(kRequestTimeout);
  Failure failed;
  beast::flat_buffer buffer(kMaxRequest);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMaxRequest);
  co_await http::async_read(client, buffer, parser,
                            asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return;
  http::request<http::empty_body> request = parser.release();
  const IndexUrl* index = find(std::string(request[http::field::authorization]));
  if (index == nullptr) co_return co_await refuse(client, 401);
  if (request.method() != http::verb::get && request.method() != http::verb::head)
    co_return co_await refuse(client, 405);
  if (!is_path(request.target())) co_return co_await refuse(client, 400);
  RelayRequest one{std::move(request), *index, own_origin_, load_};
  tcp::resolver resolver(io_);
  const std::string host = one.index.host;
  const std::string port = one.index.port;
  tcp::resolver::results_type addresses = co_await resolver.async_resolve(
      host, port, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return co_await refuse(client, 502);
  co_await relay(client, std::move(one), std::move(addresses), tls_);
  client.socket().shutdown(tcp::socket::shutdown_both, failed);
}

}  // namespace vitrine::gateway
