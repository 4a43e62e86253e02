// SPDX-License-Identifier: Apache-2.0
#include "gateway/gateway.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/packet.h"
#include "wire/gateway.h"

namespace vitrine::gateway {
namespace {

struct Port {
  Fd socket;
  std::uint16_t number = 0;
};

Port listen_somewhere() {
  Port port{.socket = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(port.socket.get(), raw, sizeof address), 0);
  EXPECT_EQ(::listen(port.socket.get(), 8), 0);
  EXPECT_EQ(::getsockname(port.socket.get(), raw, &size), 0);
  port.number = ntohs(address.sin_port);
  return port;
}

void limit_waits(int socket) {  // a test that waits in vain fails instead of hanging
  const timeval most{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

void send_text(int socket, const std::string& text) {
  EXPECT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

// Everything up to `end`, or to the end of the stream.
std::string read_until(int socket, const std::string& end) {
  std::string text;
  char buffer[4096];
  while (end.empty() || text.find(end) == std::string::npos) {
    const ssize_t got = ::recv(socket, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

// A gateway in a thread; the test is its front, its index and its client.
class GatewayTest : public testing::Test {
 protected:
  GatewayTest() {
    Port listener = listen_somewhere();
    port_ = listener.number;
    Result<FdPair> pair = make_socketpair();
    front_ = std::move(pair->first);
    Result<std::unique_ptr<Gateway>> made =
        Gateway::make(io_, std::move(pair->second), std::move(listener.socket), "");
    EXPECT_TRUE(made);
    gateway_ = std::move(*made);
    gateway_->serve();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~GatewayTest() override { end(); }

  void end() {
    front_ = Fd();
    if (thread_.joinable()) thread_.join();
  }

  void tell(const wire::gateway::Request& request) {
    ASSERT_TRUE(send_packet(front_.get(), wire::gateway::encode_request(request)));
  }
  void admit(const std::string& ticket) {
    const std::string url =
        "http://user:secret@127.0.0.1:" + std::to_string(index_.number) + "/simple";
    tell(wire::gateway::Admit{ticket, *parse_index_url(url)});
  }

  // Sends a request to the gateway; the answer is read by read_until(socket, "").
  Fd request(const std::string& first_line, const std::string& ticket) const {
    Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    limit_waits(client.get());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    send_text(client.get(), first_line + " HTTP/1.1\r\nHost: x\r\nCookie: mine\r\nAuthorization: " +
                                ticket + "\r\n\r\n");
    return client;
  }
  std::string answer_to(const std::string& first_line, const std::string& ticket) const {
    return read_until(request(first_line, ticket).get(), "");
  }

  asio::io_context io_{1};
  Fd front_;
  Port index_ = listen_somewhere();
  std::uint16_t port_ = 0;
  std::unique_ptr<Gateway> gateway_;
  std::thread thread_;
};

TEST_F(GatewayTest, ReplacesATicketByTheCredentialsOfItsIndex) {
  admit("Basic ticket");
  const Fd client = request("GET /simple/x/", "Basic ticket");
  const Fd accepted(::accept4(index_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  limit_waits(accepted.get());

  const std::string asked = read_until(accepted.get(), "\r\n\r\n");
  const std::string origin = "http://127.0.0.1:" + std::to_string(index_.number);
  const std::string page = "<a href=\"" + origin + "/f/a.whl\">";
  send_text(accepted.get(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\nContent-Length: " +
                std::to_string(page.size()) + "\r\n\r\n" + page);
  const std::string answer = read_until(client.get(), "");

  EXPECT_TRUE(asked.starts_with("GET /simple/x/ HTTP/1.1\r\n")) << asked;
  EXPECT_NE(asked.find("Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"), std::string::npos) << asked;
  EXPECT_EQ(asked.find("ticket"), std::string::npos) << asked;
  EXPECT_EQ(asked.find("Cookie"), std::string::npos) << asked;
  EXPECT_NE(answer.find("http://127.0.0.1:" + std::to_string(port_) + "/f/a.whl"),
            std::string::npos)
      << answer;
  EXPECT_EQ(answer.find("Set-Cookie"), std::string::npos) << answer;
}

TEST_F(GatewayTest, RefusesATicketBeforeItIsAdmittedAndAfterItIsReleased) {
  EXPECT_TRUE(answer_to("GET /simple/", "Basic ticket").starts_with("HTTP/1.1 401 "));

  admit("Basic ticket");
  tell(wire::gateway::Release{"Basic ticket"});

  EXPECT_TRUE(answer_to("GET /simple/", "Basic ticket").starts_with("HTTP/1.1 401 "));
}

TEST_F(GatewayTest, RefusesOtherMethodsAndOtherHosts) {
  admit("Basic ticket");

  EXPECT_TRUE(answer_to("DELETE /simple/", "Basic ticket").starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(answer_to("GET //evil.example/", "Basic ticket").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(answer_to("GET http://evil.example/", "Basic ticket").starts_with("HTTP/1.1 400 "));
}

TEST_F(GatewayTest, SaysThatTheIndexDoesNotAnswer) {
  admit("Basic ticket");
  index_.socket = Fd();

  EXPECT_TRUE(answer_to("GET /simple/", "Basic ticket").starts_with("HTTP/1.1 502 "));
}

TEST_F(GatewayTest, ReturnsWhenTheFrontIsGone) {
  end();

  EXPECT_FALSE(thread_.joinable());
}

TEST_F(GatewayTest, ReturnsWhenTheFrontBreaksTheProtocol) {
  ASSERT_TRUE(send_packet(front_.get(), "nonsense"));

  thread_.join();
}

TEST(Gateway, RefusesCertificatesThatAreNone) {
  asio::io_context io;
  Result<FdPair> pair = make_socketpair();

  Result<std::unique_ptr<Gateway>> made =
      Gateway::make(io, std::move(pair->first), listen_somewhere().socket, "not PEM");

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::invalid_argument);
}

TEST(RewriteLinks, LeadsWhatNamesTheIndexToTheGateway) {
  const IndexUrl index = *parse_index_url("https://u:p@index.org/simple");
  const std::string own = "http://127.0.0.1:9";

  EXPECT_EQ(rewrite_links("<a href=\"https://index.org/f/a.whl\">", index, own),
            "<a href=\"http://127.0.0.1:9/f/a.whl\">");
  EXPECT_EQ(rewrite_links("https://index.org:443/f", index, own), "http://127.0.0.1:9/f");
  EXPECT_EQ(rewrite_links("https://index.org.evil.org/f", index, own),
            "https://index.org.evil.org/f");
  EXPECT_EQ(rewrite_links("https://other.org/f", index, own), "https://other.org/f");
}

}  // namespace
}  // namespace vitrine::gateway
