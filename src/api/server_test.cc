// SPDX-License-Identifier: Apache-2.0
#include "api/server.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <stdexcept>
#include <thread>

#include "service/async.h"

namespace vitrine::api {
namespace {

using asio::ip::tcp;

// A server with one route that throws, on a thread of its own; blocking clients here.
class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    router.add({http::verb::get, "/throws", "", Access::ordinary, [](Exchange&) -> Task<void> {
                  throw std::runtime_error("the shelf is empty");
                  co_return;
                }});
    tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
    endpoint = acceptor.local_endpoint();
    server.emplace(std::move(acceptor), router, ServerConfig(), [this](const Handled& one) {
      statuses.push_back(one.status);
      if (log_throws) throw std::runtime_error("the log is full");
    });
    spawn(context.get_executor(), server->accept_all(), "accept");
  }

  // The answer to one request on a connection of its own; everything that follows from it is done.
  std::string get(const std::string& path) {
    std::thread thread([this] { context.run(); });
    asio::io_context own;
    tcp::socket client(own);
    client.connect(endpoint);
    asio::write(client,
                asio::buffer("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" +
                             std::to_string(endpoint.port()) + "\r\nConnection: close\r\n\r\n"));
    std::string answer;
    boost::system::error_code end;
    asio::read(client, asio::dynamic_buffer(answer), end);
    client.close();
    asio::post(context, [this] { context.stop(); });
    thread.join();
    context.restart();
    context.poll();
    return answer;
  }

  asio::io_context context;
  tcp::endpoint endpoint;
  Router router;
  std::optional<Server> server;
  std::vector<int> statuses;
  bool log_throws = false;
};

TEST_F(ServerTest, AnswersAHandlerThatThrowsWithA500AndLogsWhy) {
  testing::internal::CaptureStderr();

  const std::string answer = get("/throws");

  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
  EXPECT_EQ(answer.find("shelf"), std::string::npos) << "clients are not shown it";
  EXPECT_NE(log.find("error front: /throws threw: the shelf is empty"), std::string::npos) << log;
  EXPECT_EQ(statuses, std::vector<int>{500});
}

TEST_F(ServerTest, GivesThePlaceOfAConnectionBackThatEndsByAnException) {
  log_throws = true;
  testing::internal::CaptureStderr();

  (void)get("/throws");

  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(server->connections(), 0u);
  EXPECT_NE(log.find("task=connection reason=the log is full"), std::string::npos) << log;
}

}  // namespace
}  // namespace vitrine::api
