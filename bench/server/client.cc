// SPDX-License-Identifier: Apache-2.0
#include "server/client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace vitrine::bench {

namespace {

constexpr timeval kPatience{.tv_sec = 60, .tv_usec = 0};
constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kLength = "content-length:";

std::size_t length_in(std::string_view head) {
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  const auto at = std::search(head.begin(), head.end(), kLength.begin(), kLength.end(), same);
  if (at == head.end()) return 0;
  const auto offset = static_cast<std::size_t>(at - head.begin()) + kLength.size();
  return static_cast<std::size_t>(std::strtoull(head.data() + offset, nullptr, 10));
}

}  // namespace

std::string Answer::field(std::string_view key) const {
  const std::string wanted = "\"" + std::string(key) + "\":";
  auto at = body.find(wanted);
  if (at == std::string::npos) return "";
  at += wanted.size();
  if (body[at] != '"') return body.substr(at, body.find_first_of(",}]", at) - at);
  return body.substr(at + 1, body.find('"', at + 1) - at - 1);
}

Error refused(const Request& request, const Answer& answer) {
  return Error{Code::internal, std::string(request.method) + " " + request.target + " answered " +
                                   std::to_string(answer.status) + ": " +
                                   answer.body.substr(0, 300)};
}

Result<Client> Client::connect(std::uint16_t port) {
  Client client;
  client.socket_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(client.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return Error::from_errno("connecting to the server");
  const int yes = 1;
  ::setsockopt(client.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  client.host_ = "127.0.0.1:" + std::to_string(port);
  return client;
}

Status Client::send(const Request& request) {
  std::string text(request.method);
  text += " " + request.target + " HTTP/1.1\r\nHost: " + host_ + "\r\n";
  if (request.method == "POST")
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(request.body.size()) +
        "\r\n";
  text += "\r\n" + request.body;
  if (::send(fd(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    return Error{Code::unavailable, "the server does not take the request"};
  return ok();
}

Result<Answer> Client::receive() {
  read_.clear();
  std::size_t body = std::string::npos;  // where it begins
  std::size_t whole = std::string::npos;
  char part[16 * 1024];
  while (whole == std::string::npos || read_.size() < whole) {
    const ssize_t got = ::recv(fd(), part, sizeof part, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Error{Code::timed_out, "the server does not answer"};
    if (got <= 0) return Error{Code::unavailable, "the server closed the connection"};
    read_.append(part, static_cast<std::size_t>(got));
    if (body != std::string::npos) continue;
    const auto end = read_.find(kEnd);
    if (end == std::string::npos) continue;
    body = end + kEnd.size();
    whole = body + length_in(std::string_view(read_).substr(0, end + 2));
  }
  if (!read_.starts_with("HTTP/1.1 ") || read_.size() != whole)
    return Error{Code::internal, "the server sent something that is no answer"};
  return Answer{.status = std::atoi(read_.c_str() + 9), .body = read_.substr(body)};
}

Result<Answer> Client::call(const Request& request) {
  if (Status s = send(request); !s) return std::move(s.error());
  return receive();
}

Result<Answer> Client::expect(const Request& request) {
  Result<Answer> answer = call(request);
  if (answer && !answer->good()) return refused(request, *answer);
  return answer;
}

}  // namespace vitrine::bench
