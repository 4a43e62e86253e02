// SPDX-License-Identifier: Apache-2.0
#include "api/websocket.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <thread>

#include "api/server.h"

namespace vitrine::api {
namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using Client = websocket::stream<tcp::socket>;

constexpr std::size_t kMaxMessage = 1000;

Task<void> echo(Exchange& exchange) {
  std::shared_ptr<WebSocket> socket = co_await exchange.upgrade(kMaxMessage);
  if (!socket) co_return;
  while (std::optional<WebSocket::Message> message = co_await socket->next()) {
    if (message->data == "close") co_return co_await socket->close(WebSocket::Close::policy, "why");
    if (message->data == "think") {
      asio::steady_timer thinking(co_await asio::this_coro::executor,
                                  std::chrono::milliseconds(500));
      co_await thinking.async_wait(asio::use_awaitable);
    }
    if (!co_await socket->send(std::move(*message))) break;
  }
}

// A server on a thread of its own; blocking clients here.
class WebSocketTest : public testing::Test {
 protected:
  WebSocketTest() {
    router.add({http::verb::get, "/echo", "", Access::ordinary, echo});
    tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
    endpoint = acceptor.local_endpoint();
    server.emplace(std::move(acceptor), router, ServerConfig(), [](const Handled&) {});
    asio::co_spawn(context, server->accept_all(), asio::detached);
    thread = std::thread([this] { context.run(); });
  }
  ~WebSocketTest() override {
    asio::post(context, [this] { server->stop(); });
    asio::post(context, [this] { context.stop(); });
    thread.join();
  }

  std::unique_ptr<Client> connect() {
    auto client = std::make_unique<Client>(clients);
    client->next_layer().connect(endpoint);
    client->handshake("127.0.0.1:" + std::to_string(endpoint.port()), "/echo");
    return client;
  }

  static std::string read(Client& client) {
    beast::flat_buffer buffer;
    client.read(buffer);
    return beast::buffers_to_string(buffer.data());
  }

  // How the peer closed.
  static int closed(Client& client) {
    beast::flat_buffer buffer;
    beast::error_code failed;
    while (!failed) client.read(buffer, failed);
    return failed == websocket::error::closed ? client.reason().code : 0;
  }

  asio::io_context context;
  asio::io_context clients;
  tcp::endpoint endpoint;
  Router router;
  std::optional<Server> server;
  std::thread thread;
};

TEST_F(WebSocketTest, CarriesMessagesBothWaysInOrder) {
  auto client = connect();
  for (int i = 0; i < 200; ++i) client->write(asio::buffer(std::to_string(i)));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(read(*client), std::to_string(i));
  EXPECT_TRUE(client->got_text());

  client->binary(true);
  client->write(asio::buffer(std::string("\0\xFF", 2)));
  EXPECT_EQ(read(*client), std::string("\0\xFF", 2));
  EXPECT_FALSE(client->got_text());
}

TEST_F(WebSocketTest, AnswersPingsWhileTheRouteIsBusy) {
  auto client = connect();
  bool ponged = false;
  bool answered = false;
  bool ponged_first = false;
  client->control_callback([&](websocket::frame_type kind, beast::string_view) {
    if (kind == websocket::frame_type::pong) {
      ponged = true;
      ponged_first = !answered;
    }
  });
  client->write(asio::buffer(std::string("think")));
  client->ping("x");
  EXPECT_EQ(read(*client), "think");
  answered = true;
  EXPECT_TRUE(ponged && ponged_first);
}

TEST_F(WebSocketTest, ClosesWithTheReasonOfTheRoute) {
  auto client = connect();
  client->write(asio::buffer(std::string("close")));
  EXPECT_EQ(closed(*client), websocket::close_code::policy_error);
  EXPECT_EQ(client->reason().reason, "why");
}

TEST_F(WebSocketTest, RefusesMessagesThatAreTooLarge) {
  auto client = connect();
  client->write(asio::buffer(std::string(kMaxMessage + 1, 'x')));
  EXPECT_EQ(closed(*client), websocket::close_code::too_big);
}

TEST_F(WebSocketTest, RefusesTextThatIsNone) {
  auto client = connect();
  client->write(asio::buffer(std::string("\xFF\xFE")));
  EXPECT_EQ(closed(*client), websocket::close_code::bad_payload);
}

TEST_F(WebSocketTest, TellsItsPeersWhenTheServerStops) {
  auto client = connect();
  client->write(asio::buffer(std::string("x")));
  EXPECT_EQ(read(*client), "x");
  asio::post(context, [this] { server->stop(); });
  EXPECT_EQ(closed(*client), websocket::close_code::going_away);
}

TEST_F(WebSocketTest, SurvivesPeersThatVanish) {
  for (int i = 0; i < 50; ++i) {
    auto client = connect();
    client->write(asio::buffer(std::string(i % 2 == 0 ? "think" : "x")));
    client->next_layer().close();
  }
  auto client = connect();
  client->write(asio::buffer(std::string("here")));
  EXPECT_EQ(read(*client), "here");
}

TEST_F(WebSocketTest, TellsPlainRequestsWhatToDo) {
  tcp::socket socket(clients);
  socket.connect(endpoint);
  http::request<http::empty_body> request(http::verb::get, "/echo", 11);
  request.set(http::field::host, "127.0.0.1");
  http::write(socket, request);
  beast::flat_buffer buffer;
  http::response<http::string_body> answer;
  http::read(socket, buffer, answer);
  EXPECT_EQ(answer.result(), http::status::upgrade_required);
  EXPECT_EQ(answer[http::field::upgrade], "websocket");
  EXPECT_NE(answer.body().find("remedy"), std::string::npos);
}

}  // namespace
}  // namespace vitrine::api
