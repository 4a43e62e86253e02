// SPDX-License-Identifier: Apache-2.0
#include "egress/proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/packet.h"

namespace vitrine::egress {
namespace {

using std::chrono::milliseconds;

Address at(const std::string& text) { return parse_address(text).value(); }

sockaddr_in loopback(const char* host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

struct Listener {
  explicit Listener(const char* host) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(host, 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket.get(), 16), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  Fd socket;
  std::uint16_t port = 0;
};

// A proxy in a thread, with a lookup of our own; it ends with its line.
class Running {
 public:
  Running(const Listener& origin, Lookup lookup, Times times = {}) : listener_("127.0.0.1") {
    Result<FdPair> line = make_socketpair();
    line_ = std::move(line->first);
    Result<Policy> policy = Policy::make(
        {.allow = {"name.test:" + std::to_string(origin.port)}, .private_ = {"127.77.0.0/16"}});
    port_ = listener_.port;
    EXPECT_TRUE(set_nonblocking(listener_.socket.get()));
    proxy_.emplace(ProxyParts{.listener = std::move(listener_.socket),
                              .line = std::move(line->second),
                              .counters = counters_.data(),
                              .policy = std::move(*policy),
                              .resolver = std::move(*Resolver::start(std::move(lookup), 1)),
                              .times = times});
    thread_ = std::thread([this] { (void)proxy_->run(); });
  }
  ~Running() {
    line_.reset();
    thread_.join();
  }

  Fd connect() const {
    Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback("127.0.0.1", port_);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    return client;
  }
  // All that comes back until the end.
  std::string ask(const std::string& request) const {
    const Fd client = connect();
    EXPECT_GT(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
    return read_all(client.get());
  }
  static std::string read_all(int socket) {
    std::string all;
    char part[4096];
    for (ssize_t got = 0; (got = ::recv(socket, part, sizeof part, 0)) > 0;)
      all.append(part, static_cast<std::size_t>(got));
    return all;
  }
  NetworkEntry decision() const {
    for (;;) {
      Result<Packet> packet = receive_packet(line_.get(), wire::kMaxEgressMessage, 0);
      EXPECT_TRUE(packet);
      if (!packet) return {};
      Result<wire::EgressMessage> message = wire::decode_egress(packet->bytes);
      EXPECT_TRUE(message);
      if (const auto* decided = std::get_if<wire::Decided>(&*message)) return decided->entry;
    }
  }

 private:
  Listener listener_;
  std::uint16_t port_ = 0;
  Fd line_;
  std::array<wire::EgressCounter, wire::kEgressCounters> counters_{};
  std::optional<Proxy> proxy_;
  std::thread thread_;
};

std::string connect_to(const Listener& origin) {
  return "CONNECT name.test:" + std::to_string(origin.port) + " HTTP/1.1\r\n\r\n";
}

TEST(Proxy, ConnectsToTheAddressItJudgedAndLooksANameUpOnce) {
  const Listener origin("127.77.0.1");
  std::atomic<int> lookups = 0;
  // As a rebinding server answers: something good first, then the inside.
  const Running proxy(origin, [&](const std::string&) {
    return std::vector<Address>{at(lookups++ == 0 ? "127.77.0.1" : "127.0.0.1")};
  });

  const Fd client = proxy.connect();
  const std::string request = connect_to(origin);
  ASSERT_GT(::send(client.get(), request.data(), request.size(), 0), 0);
  const Fd accepted(::accept4(origin.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const NetworkEntry first = proxy.decision();
  const std::string second = proxy.ask(request);

  EXPECT_EQ(first.decision, NetworkDecision::allowed);
  EXPECT_EQ(first.address, "127.77.0.1");
  EXPECT_EQ(lookups, 2);
  EXPECT_TRUE(second.starts_with("HTTP/1.1 403 ")) << second;
  EXPECT_EQ(proxy.decision().decision, NetworkDecision::refused);
}

TEST(Proxy, RefusesANameWithOneAddressInside) {
  const Listener origin("127.77.0.1");
  const Running proxy(origin, [](const std::string&) {
    return std::vector<Address>{at("127.77.0.1"), at("169.254.169.254")};
  });

  const std::string answer = proxy.ask(connect_to(origin));

  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
  EXPECT_NE(answer.find("169.254.169.254"), std::string::npos);
  EXPECT_EQ(proxy.decision().address, "");
}

TEST(Proxy, JudgesMappedAddressesAsWhatTheyAre) {
  const Listener origin("127.77.0.1");
  const Running proxy(
      origin, [](const std::string&) { return std::vector<Address>{at("::ffff:10.0.0.1")}; });

  EXPECT_TRUE(proxy.ask(connect_to(origin)).starts_with("HTTP/1.1 403 "));
}

TEST(Proxy, GivesUpALookupThatHangs) {
  const Listener origin("127.77.0.1");
  auto gate = std::make_shared<std::promise<void>>();  // the thread may outlive the test
  const Running proxy(origin,
                      [gate, wait = gate->get_future().share()](const std::string&) {
                        wait.wait();
                        return std::vector<Address>{};
                      },
                      {.resolve = milliseconds(50)});

  const std::string answer = proxy.ask(connect_to(origin));

  EXPECT_TRUE(answer.starts_with("HTTP/1.1 504 ")) << answer;
  EXPECT_EQ(proxy.decision().decision, NetworkDecision::failed);
  gate->set_value();
}

TEST(Proxy, GivesUpAHeadThatDoesNotEnd) {
  const Listener origin("127.77.0.1");
  const Running proxy(origin, [](const std::string&) { return std::vector<Address>{}; },
                      {.head = milliseconds(50)});

  EXPECT_TRUE(proxy.ask("GET http://name.test/ HTTP/1.1\r\nA: ").starts_with("HTTP/1.1 408 "));
}

TEST(Proxy, PassesOnOneRequestAndTheWholeAnswer) {
  const Listener origin("127.77.0.1");
  const Running proxy(origin,
                      [](const std::string&) { return std::vector<Address>{at("127.77.0.1")}; });
  std::string seen;
  std::thread server([&] {
    const Fd client(::accept4(origin.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string end = "\r\n\r\nabc";
    char part[4096];
    while (!seen.ends_with(end)) {
      const ssize_t got = ::recv(client.get(), part, sizeof part, 0);
      if (got <= 0) break;
      seen.append(part, static_cast<std::size_t>(got));
    }
    const std::string answer = "HTTP/1.1 200 OK\r\n\r\n" + std::string(200'000, 'x');
    EXPECT_EQ(::send(client.get(), answer.data(), answer.size(), 0),
              static_cast<ssize_t>(answer.size()));
  });
  const std::string where = "name.test:" + std::to_string(origin.port);

  const std::string answer =
      proxy.ask("POST http://" + where +
                "/p HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /x HTTP/1.1\r\n\r\n");
  server.join();

  EXPECT_EQ(seen, "POST /p HTTP/1.1\r\nHost: " + where +
                      "\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
  EXPECT_EQ(answer.size(), 200'019u);
}

}  // namespace
}  // namespace vitrine::egress
