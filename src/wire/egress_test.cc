// SPDX-License-Identifier: Apache-2.0
#include "wire/egress.h"

#include <gtest/gtest.h>

namespace vitrine::wire {
namespace {

const Decided kDecided{.connection = 7,
                       .slot = 3,
                       .entry = {.host = "example.org",
                                 .port = 443,
                                 .decision = NetworkDecision::allowed,
                                 .reason = "rule example.org",
                                 .address = "192.0.2.1",
                                 .sent = 1,
                                 .received = 2}};

TEST(EgressSetup, SurvivesTheWay) {
  Result<EgressSetup> back = decode_egress_setup(encode_egress_setup(
      {.allow = {"a.org", "b.org:1"}, .private_ = {"10.0.0.0/8"}, .starts = 2}));

  ASSERT_TRUE(back);
  EXPECT_EQ(back->allow, (std::vector<std::string>{"a.org", "b.org:1"}));
  EXPECT_EQ(back->private_, (std::vector<std::string>{"10.0.0.0/8"}));
  EXPECT_EQ(back->starts, 2u);
}

TEST(EgressMessage, KeepsEveryField) {
  Result<EgressMessage> back = decode_egress(encode_egress(kDecided));

  ASSERT_TRUE(back);
  const auto& decided = std::get<Decided>(*back);
  EXPECT_EQ(decided.connection, 7u);
  EXPECT_EQ(decided.slot, 3u);
  EXPECT_EQ(decided.entry.host, "example.org");
  EXPECT_EQ(decided.entry.port, 443);
  EXPECT_EQ(decided.entry.decision, NetworkDecision::allowed);
  EXPECT_EQ(decided.entry.reason, "rule example.org");
  EXPECT_EQ(decided.entry.address, "192.0.2.1");
  EXPECT_EQ(decided.entry.sent, 1u);
  EXPECT_EQ(decided.entry.received, 2u);
}

TEST(EgressMessage, IsRefusedWhenCutOrLonger) {
  const std::vector<EgressMessage> all{ProxyStarted{1}, kDecided, Closed{1, 2, 3}, ProxyGone{}};
  for (const EgressMessage& message : all) {
    const std::string bytes = encode_egress(message);
    ASSERT_TRUE(decode_egress(bytes));
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(decode_egress(std::string_view(bytes).substr(0, size)));
    EXPECT_FALSE(decode_egress(bytes + "x"));
  }
}

TEST(EgressMessage, IsRefusedWithWhatIsNoPlainText) {
  for (const char* host : {"a\nb", "\x1b[2J", "m\xc3\xbcnchen"}) {
    Decided odd = kDecided;
    odd.entry.host = host;
    EXPECT_FALSE(decode_egress(encode_egress(odd)));
  }
  Decided longer = kDecided;
  longer.entry.reason = std::string(kMaxReason + 1, 'x');
  EXPECT_FALSE(decode_egress(encode_egress(longer)));
  Decided nowhere = kDecided;
  nowhere.slot = kEgressSlots;
  EXPECT_FALSE(decode_egress(encode_egress(nowhere)));
}

}  // namespace
}  // namespace vitrine::wire
