// SPDX-License-Identifier: Apache-2.0
#include "egress/request.h"

#include <gtest/gtest.h>

namespace vitrine::egress {
namespace {

std::variant<Request, Refusal> parse(const std::string& lines) {
  return parse_request(lines + "\r\n");
}

Request accepted(const std::string& lines) {
  const auto parsed = parse(lines);
  const Request* request = std::get_if<Request>(&parsed);
  EXPECT_NE(request, nullptr) << lines;
  return request != nullptr ? *request : Request{};
}

int refused(const std::string& lines) {
  const auto parsed = parse(lines);
  const Refusal* refusal = std::get_if<Refusal>(&parsed);
  EXPECT_NE(refusal, nullptr) << lines;
  return refusal != nullptr ? refusal->status : 0;
}

TEST(ParseRequest, UnderstandsConnect) {
  const Request request = accepted("CONNECT Example.ORG:443 HTTP/1.1\r\nHost: evil.net\r\n");

  EXPECT_TRUE(request.tunnel);
  EXPECT_EQ(request.host, "example.org");
  EXPECT_EQ(request.port, 443);
}

TEST(ParseRequest, WritesAForwardedHeadAnew) {
  const Request request = accepted(
      "POST http://example.org:8080/a?b=c HTTP/1.1\r\nHost: evil.net\r\nProxy-Authorization: x\r\n"
      "Proxy-Connection: keep-alive\r\nConnection: X-Secret, keep-alive\r\nX-Secret: 1\r\n"
      "Content-Length: 5\r\nAccept:  */* \r\nTE: trailers\r\nUpgrade: h2c\r\n");

  EXPECT_EQ(request.head,
            "POST /a?b=c HTTP/1.1\r\nHost: example.org:8080\r\nContent-Length: 5\r\nAccept: */*\r\n"
            "Connection: close\r\n\r\n");
  EXPECT_EQ(request.body, 5u);
  EXPECT_FALSE(request.tunnel);
}

TEST(ParseRequest, GivesAPathAndAPortWhereNoneIs) {
  EXPECT_EQ(accepted("GET http://example.org HTTP/1.0\r\n").head,
            "GET / HTTP/1.0\r\nHost: example.org\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(accepted("GET http://example.org?x HTTP/1.1\r\n").head,
            "GET /?x HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(accepted("GET http://[2001:db8::1]/ HTTP/1.1\r\n").host, "2001:db8::1");
}

TEST(ParseRequest, RefusesHostsInOddNotations) {
  for (const char* host : {"0x7f.1:80",
                           "2130706433:80",
                           "127.1:80",
                           "017700000001:80",
                           "example.org.:80",
                           "ex%61mple.org:80",
                           "m\xc3\xbcnchen.de:80",
                           "[::ffff:7f00:1]:80x",
                           "[fe80::1%25eth0]:80",
                           "user@example.org:80",
                           "example.org:443@evil.net:80",
                           "example.org:",
                           "example.org:0",
                           "example.org:00443",
                           "example.org:65616",
                           ":80",
                           "[::1:80",
                           "a\\b:80",
                           "127.0.0.1.:80",
                           "0:0:0:0:0:0:0:1:80",
                           "[0:0:0:0:0:0:0:1]:80",
                           "*.example.org:80"}) {
    EXPECT_EQ(refused(std::string("CONNECT ") + host + " HTTP/1.1\r\n"), 400) << host;
    EXPECT_EQ(refused(std::string("GET http://") + host + "/ HTTP/1.1\r\n"), 400) << host;
  }
  EXPECT_EQ(refused("CONNECT example.org HTTP/1.1\r\n"), 400) << "no port";
}

TEST(ParseRequest, RefusesWhatTwoReadersCouldUnderstandDifferently) {
  const std::string get = "GET http://a.org/ HTTP/1.1\r\n";
  for (const char* header :
       {"Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: +5\r\n",
        "Content-Length: 5, 5\r\n", "Content-Length: 0x5\r\n", "Content-Length:\r\n",
        "Content-Length: 99999999999999999999\r\n", "Content-Length : 5\r\n", " folded: 1\r\n",
        "A: 1\r\n folded\r\n", "A: 1\nB: 2\r\n", "A: 1\rB: 2\r\n", "no colon\r\n", ": empty\r\n",
        "A: \x01\r\n", "Connection: content-length\r\nContent-Length: 3\r\n", "A\x00: 1\r\n"})
    EXPECT_EQ(refused(get + header), 400) << header;
  EXPECT_EQ(refused(get + "Transfer-Encoding: chunked\r\n"), 501);
  EXPECT_EQ(refused(get + "transfer-encoding: identity\r\nContent-Length: 3\r\n"), 501);
  EXPECT_EQ(refused(get + std::string("A: \0b\r\n", 7)), 400);
}

TEST(ParseRequest, RefusesOtherRequestLines) {
  for (const char* line :
       {"GET / HTTP/1.1", "GET https://a.org/ HTTP/1.1", "GET ftp://a.org/ HTTP/1.1",
        "OPTIONS * HTTP/1.1", "GET http://a.org/ HTTP/2.0", "GET http://a.org/",
        "GET  http://a.org/ HTTP/1.1", "GET http://a.org/ x HTTP/1.1",
        "GET http://a.org/#f HTTP/1.1", "G(T http://a.org/ HTTP/1.1", "GET http:///x HTTP/1.1",
        "GET http://a.org/\x80 HTTP/1.1", ""})
    EXPECT_EQ(refused(std::string(line) + "\r\n"), 400) << line;
}

TEST(ParseRequest, IsBounded) {
  std::string many = "GET http://a.org/ HTTP/1.1\r\n";
  for (int i = 0; i < 101; ++i) many += "a: b\r\n";
  EXPECT_EQ(refused(many), 431);
  EXPECT_EQ(refused("GET http://a.org/" + std::string(kMaxHead, 'x') + " HTTP/1.1\r\n"), 431);
}

TEST(HeadSize, EndsAtTheEmptyLineOrAtABareLineFeed) {
  EXPECT_EQ(head_size("GET x\r\nA: b\r\n"), std::nullopt);
  EXPECT_EQ(head_size("GET x\r\nA: b\r\n\r\nbody"), 15u);
  EXPECT_EQ(head_size("GET x\nA"), 6u);
  EXPECT_EQ(head_size(""), std::nullopt);
  EXPECT_EQ(head_size("\r\n"), 2u);
}

}  // namespace
}  // namespace vitrine::egress
