// SPDX-License-Identifier: Apache-2.0
#include "server/null_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>

namespace vitrine::bench {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

auto token_of(error_code& failed) { return asio::redirect_error(asio::use_awaitable, failed); }

asio::awaitable<void> serve_one(tcp::socket socket, const std::string& answer) {
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  for (error_code failed;;) {
    http::request<http::string_body> request;
    co_await http::async_read(stream, buffer, request, token_of(failed));
    if (!failed) co_await asio::async_write(stream, asio::buffer(answer), token_of(failed));
    if (failed) co_return;
  }
}

asio::awaitable<void> accept_all(tcp::acceptor& acceptor, const std::string& answer) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve_one(std::move(socket), answer), asio::detached);
  }
}

}  // namespace

void serve_null(int listener, std::size_t size) {
  constexpr std::string_view kFrame = "{\"padding\":\"\"}";
  const std::size_t padding = size > kFrame.size() ? size - kFrame.size() : 0;
  const std::string body = "{\"padding\":\"" + std::string(padding, 'x') + "\"}";
  const std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  asio::io_context context(1);
  tcp::acceptor acceptor(context, tcp::v4(), listener);
  asio::co_spawn(context, accept_all(acceptor, answer), asio::detached);
  context.run();
  std::exit(1);
}

Result<NullServer> NullServer::start(std::size_t size) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const int yes = 1;
  ::setsockopt(listener.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener.get(), 64) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return Error::from_errno("listening for the null server");
  Result<Process> process =
      bench::start({.argv = {"/proc/self/exe", "--null", std::to_string(size)},
                    .environment = {},
                    .fds = {{listener.get(), 3}}});
  if (!process) return std::move(process.error());
  NullServer server;
  server.process_ = std::move(*process);
  server.port_ = ntohs(address.sin_port);
  return server;
}

}  // namespace vitrine::bench
