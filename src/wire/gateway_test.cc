// SPDX-License-Identifier: Apache-2.0
#include "wire/gateway.h"

#include <gtest/gtest.h>

namespace vitrine::wire::gateway {
namespace {

const Admit kAdmit{.ticket = "Basic dml0cmluZTp4",
                   .index = *parse_index_url("https://u:p@index.example.org:8443/simple")};

TEST(GatewayRequest, EveryOneComesBackAsItWasSent) {
  for (const Request& request : {Request(Start{}), Request(kAdmit), Request(Release{"Basic x"})}) {
    Result<Request> back = decode_request(encode_request(request));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->index(), request.index());
    EXPECT_EQ(encode_request(*back), encode_request(request));
  }
  const auto admit = std::get<Admit>(*decode_request(encode_request(kAdmit)));
  EXPECT_EQ(admit.index.authority(), "index.example.org:8443");
  EXPECT_EQ(admit.index.authorization, kAdmit.index.authorization);
}

TEST(GatewayRequest, IsWithinItsLimits) {
  const auto accepted = [](auto change) {
    Admit admit = kAdmit;
    change(admit);
    return static_cast<bool>(decode_request(encode_request(admit)));
  };
  EXPECT_TRUE(accepted([](Admit&) {}));
  EXPECT_FALSE(accepted([](Admit& a) { a.ticket.clear(); }));
  EXPECT_FALSE(accepted([](Admit& a) { a.ticket.assign(kMaxTicket + 1, 'x'); }));
  EXPECT_FALSE(accepted([](Admit& a) { a.index.host.clear(); }));
  EXPECT_FALSE(accepted([](Admit& a) { a.index.host.assign(kMaxHost + 1, 'x'); }));
  EXPECT_FALSE(accepted([](Admit& a) { a.index.port = "123456"; }));
  EXPECT_FALSE(accepted([](Admit& a) { a.index.port.clear(); }));
  EXPECT_FALSE(accepted([](Admit& a) { a.index.path.assign(kMaxPath + 1, 'x'); }));
  EXPECT_FALSE(accepted([](Admit& a) { a.index.authorization.assign(kMaxCredentials + 1, 'x'); }));
}

TEST(GatewayReply, EveryOneComesBackAsItWasSent) {
  for (const Reply& reply : {Reply(Started{}), Reply(Failed{"no certificates"})}) {
    Result<Reply> back = decode_reply(encode_reply(reply));
    ASSERT_TRUE(back);
    EXPECT_EQ(encode_reply(*back), encode_reply(reply));
  }
  EXPECT_FALSE(decode_reply(encode_reply(Failed{"\xFF"})));
  EXPECT_FALSE(decode_reply(encode_reply(Failed{std::string(kMaxDetail + 1, 'x')})));
}

TEST(GatewayReply, NoCutIsAccepted) {
  const std::string whole = encode_reply(Failed{"x"});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_reply(whole.substr(0, size))) << size;
  EXPECT_FALSE(decode_reply(whole + "x"));
}

}  // namespace
}  // namespace vitrine::wire::gateway
