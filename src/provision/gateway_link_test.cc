// SPDX-License-Identifier: Apache-2.0
#include "provision/gateway_link.h"

#include <gtest/gtest.h>

#include "testing/fake_gateways.h"
#include "testing/front.h"

namespace vitrine::provision {
namespace {

using wire::gateway::Admit;
using wire::gateway::Release;
using wire::gateway::Start;
using Ticket = std::shared_ptr<const GatewayLink::Ticket>;

class GatewayLinkTest : public ::testing::Test {
 protected:
  GatewayLinkTest() {
    front.listen([](const wire::Event&) {});
  }

  Result<Ticket> admit() { return front.run(link.admit(index)); }

  const IndexUrl index = *parse_index_url("https://user:hunter2@private.example/simple");
  vitrine::testing::Front front;
  vitrine::testing::FakeGateways gateways{front.keeper};
  GatewayLink link{front.context.get_executor(), front.link, "PEM"};
};

TEST_F(GatewayLinkTest, HandsOverTheSocketAndTheCertificatesAndThenATicket) {
  Result<Ticket> ticket = admit();

  ASSERT_TRUE(ticket) << ticket.error().message;
  ASSERT_TRUE(gateways.next<Start>());
  ASSERT_EQ(gateways.fds.size(), 2u);
  char text[8] = {};
  EXPECT_EQ(::pread(gateways.fds[1].get(), text, sizeof text, 0), 3);
  EXPECT_STREQ(text, "PEM");
  const std::optional<Admit> admitted = gateways.next<Admit>();
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->index.authorization, index.authorization);
  EXPECT_TRUE((*ticket)->url().ends_with("@127.0.0.1:" + std::to_string(link.port()) + "/simple"));
  EXPECT_EQ((*ticket)->url().find("hunter2"), std::string::npos);
}

TEST_F(GatewayLinkTest, StartsNoGatewayWithoutATicket) {
  front.settle();

  EXPECT_EQ(gateways.started(), 0u);
  EXPECT_EQ(link.port(), 0);
}

TEST_F(GatewayLinkTest, StartsOneGatewayForAllTickets) {
  Result<Ticket> first = admit();
  Result<Ticket> second = admit();

  ASSERT_TRUE(first && second);
  EXPECT_EQ(gateways.started(), 1u);
  EXPECT_NE((*first)->url(), (*second)->url());
}

TEST_F(GatewayLinkTest, LetsTwoWaitForTheSameStart) {
  front.keeper.late<wire::StartGateway>();
  auto first = front.start(link.admit(index));
  auto second = front.start(link.admit(index));

  front.keeper.release();
  front.settle();

  EXPECT_TRUE(first.value());
  EXPECT_TRUE(second.value());
  EXPECT_EQ(gateways.started(), 1u);
}

TEST_F(GatewayLinkTest, ReleasesATicketThatIsDestroyed) {
  Result<Ticket> ticket = admit();
  ASSERT_TRUE(gateways.next<Start>());
  const std::optional<Admit> admitted = gateways.next<Admit>();

  ticket->reset();

  const std::optional<Release> released = gateways.next<Release>();
  ASSERT_TRUE(admitted && released);
  EXPECT_EQ(released->ticket, admitted->ticket);
}

TEST_F(GatewayLinkTest, StartsADeadGatewayAgainOnTheSamePortWithTheTicketsThatAreHeld) {
  Result<Ticket> held = admit();
  Result<Ticket> released = admit();
  ASSERT_TRUE(gateways.next<Start>());
  const std::optional<Admit> admitted = gateways.next<Admit>();
  const std::uint16_t port = link.port();
  released->reset();

  gateways.kill();
  front.advance(std::chrono::milliseconds(100));

  ASSERT_EQ(gateways.started(), 2u);
  EXPECT_TRUE(gateways.next<Start>());
  const std::optional<Admit> again = gateways.next<Admit>();
  ASSERT_TRUE(admitted && again);
  EXPECT_EQ(again->ticket, admitted->ticket);
  EXPECT_FALSE(gateways.next<Admit>()) << "one was released";
  EXPECT_EQ(link.port(), port);
}

TEST_F(GatewayLinkTest, WaitsLongerAfterEachGatewayThatDoesNotStart) {
  Result<Ticket> ticket = admit();
  front.keeper.refuse<wire::StartGateway>({Code::unavailable, "not now"});
  gateways.kill();

  front.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(front.keeper.count<wire::StartGateway>(), 2u);
  front.advance(std::chrono::milliseconds(199));
  EXPECT_EQ(front.keeper.count<wire::StartGateway>(), 2u);
  front.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(front.keeper.count<wire::StartGateway>(), 3u);
  for (int i = 0; i < 10; ++i) front.advance(std::chrono::seconds(5));

  EXPECT_GE(front.keeper.count<wire::StartGateway>(), 12u) << "never longer than five seconds";
}

TEST_F(GatewayLinkTest, StartsADeadGatewayAgainOnlyForATicket) {
  Result<Ticket> ticket = admit();
  ticket->reset();

  gateways.kill();
  front.advance(std::chrono::minutes(1));
  EXPECT_EQ(gateways.started(), 1u);

  EXPECT_TRUE(admit());
  EXPECT_EQ(gateways.started(), 2u);
}

TEST_F(GatewayLinkTest, RestartsAGatewayThatReadsNoMessages) {
  Result<Ticket> ticket = admit();

  for (int i = 0; i < 2000 && gateways.started() == 1; ++i) {  // more than its socket holds
    EXPECT_TRUE(admit());
    front.advance(std::chrono::milliseconds(100));
  }

  EXPECT_EQ(gateways.started(), 2u);
}

TEST_F(GatewayLinkTest, SaysThatThereIsNoGateway) {
  front.keeper.refuse<wire::StartGateway>({Code::unsupported, "there is no vitrine-gateway"});

  const Result<Ticket> ticket = admit();

  ASSERT_FALSE(ticket);
  EXPECT_EQ(ticket.error().code, Code::unsupported);
}

TEST_F(GatewayLinkTest, RefusesCredentialsThatDoNotFitIntoAMessage) {
  IndexUrl huge = index;
  huge.authorization.assign(wire::gateway::kMaxCredentials + 1, 'x');

  const Result<Ticket> ticket = front.run(link.admit(huge));

  ASSERT_FALSE(ticket);
  EXPECT_EQ(ticket.error().code, Code::invalid_argument);
  EXPECT_EQ(gateways.started(), 0u);
}

TEST_F(GatewayLinkTest, HangsUpWhenItIsDestroyed) {
  auto other = std::make_unique<GatewayLink>(front.context.get_executor(), front.link, "");
  Result<Ticket> ticket = front.run(other->admit(index));
  ASSERT_TRUE(gateways.next<Start>());
  ASSERT_TRUE(gateways.next<Admit>());

  other.reset();
  front.advance(std::chrono::minutes(1));

  EXPECT_TRUE(gateways.is_left());
  EXPECT_EQ(gateways.started(), 1u) << "although a ticket outlives it";
}

TEST(GatewayLink, SaysWhyAGatewayDidNotStart) {
  vitrine::testing::Front front;
  front.listen([](const wire::Event&) {});
  vitrine::testing::FakeGateways gateways(front.keeper, wire::gateway::Failed{"no certificates"});
  GatewayLink link(front.context.get_executor(), front.link, "not PEM");

  const Result<Ticket> ticket = front.run(link.admit(*parse_index_url("https://u:p@a.org/")));

  ASSERT_FALSE(ticket);
  EXPECT_EQ(ticket.error().code, Code::invalid_argument);
  EXPECT_EQ(ticket.error().message, "no certificates");
}

TEST(GatewayLink, GivesUpAGatewayThatSaysNothing) {
  vitrine::testing::Front front;
  front.listen([](const wire::Event&) {});
  vitrine::testing::FakeGateways gateways(front.keeper, std::nullopt);
  GatewayLink link(front.context.get_executor(), front.link, "");
  auto ticket = front.start(link.admit(*parse_index_url("https://u:p@a.org/")));
  EXPECT_FALSE(ticket.is_done());

  front.advance(std::chrono::seconds(10));

  const Result<Ticket> done = ticket.value();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::timed_out);
  ASSERT_TRUE(gateways.next<Start>());
  EXPECT_TRUE(gateways.is_left());
}

}  // namespace
}  // namespace vitrine::provision
