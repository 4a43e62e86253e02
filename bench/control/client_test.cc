// SPDX-License-Identifier: Apache-2.0
#include "control/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"

namespace vitrine::bench::control {
namespace {

// The keeper's end of the socket, in the hands of the test.
class ControlClientTest : public testing::Test {
 protected:
  ControlClientTest() {
    Result<FdPair> pair = make_socketpair();
    client.emplace(std::move(pair->first));
    keeper = std::move(pair->second);
  }

  wire::NumberedRequest asked() {
    Result<Packet> packet = receive_packet(keeper.get(), wire::kMaxControl, 0, Wait::dont);
    return *wire::decode_request(packet->bytes);
  }

  std::optional<ControlClient> client;
  Fd keeper;
};

TEST_F(ControlClientTest, NumbersRequestsAndNeverUsesZero) {
  Result<std::uint32_t> first = client->send(wire::List{});
  Result<std::uint32_t> second = client->send(wire::End{.session = 7});

  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, 0u);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(asked().number, *first);
  const wire::NumberedRequest end = asked();
  EXPECT_EQ(end.number, *second);
  EXPECT_EQ(std::get<wire::End>(end.request).session, 7u);
}

TEST_F(ControlClientTest, PostsWithoutAskingForAnAnswer) {
  ASSERT_TRUE(client->post(wire::Unwatch{.session = 1, .execution = 2}));

  EXPECT_EQ(asked().number, 0u);
}

TEST_F(ControlClientTest, HasNothingWhileTheKeeperIsSilent) {
  Result<std::optional<FromKeeper>> nothing = client->receive();

  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
}

TEST_F(ControlClientTest, GivesTheDescriptorsOfAnOpenedSession) {
  Result<FdPair> pipe = make_pipe();
  const std::vector<int> fds(3, pipe->first.get());
  const std::string reply = wire::encode_reply(9, wire::Opened{.session = 5});
  ASSERT_TRUE(send_packet(keeper.get(), reply, fds));

  Result<std::optional<FromKeeper>> got = client->receive();

  ASSERT_TRUE(got && *got);
  const Answer& answer = std::get<Answer>(**got);
  EXPECT_EQ(answer.number, 9u);
  ASSERT_TRUE(answer.opened);
  EXPECT_EQ(answer.opened->session, 5u);
  EXPECT_TRUE(answer.opened->socket && answer.opened->out && answer.opened->err);
}

TEST_F(ControlClientTest, RefusesAnOpenedSessionWithoutItsDescriptors) {
  ASSERT_TRUE(send_packet(keeper.get(), wire::encode_reply(9, wire::Opened{.session = 5})));

  Result<std::optional<FromKeeper>> got = client->receive();

  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::invalid_argument);
}

TEST_F(ControlClientTest, PassesErrorsAndEventsOn) {
  const Error full{.code = Code::unavailable, .message = "full", .remedy = "wait"};
  ASSERT_TRUE(send_packet(keeper.get(), wire::encode_reply(3, full)));
  const wire::Died died{.session = 4, .death = {.cause = Cause::oom, .code = 9}};
  ASSERT_TRUE(send_packet(keeper.get(), wire::encode_event(died)));

  Result<std::optional<FromKeeper>> error = client->receive();
  Result<std::optional<FromKeeper>> event = client->receive();

  ASSERT_TRUE(error && *error && event && *event);
  EXPECT_EQ(std::get<Error>(std::get<Answer>(**error).reply).message, "full");
  const auto& told = std::get<wire::Died>(std::get<wire::Event>(**event));
  EXPECT_EQ(told.session, 4u);
  EXPECT_EQ(told.death.cause, Cause::oom);
}

TEST_F(ControlClientTest, RefusesNonsense) {
  ASSERT_TRUE(send_packet(keeper.get(), "\xff nonsense"));

  EXPECT_FALSE(client->receive());
}

TEST_F(ControlClientTest, SaysWhenTheKeeperIsGone) {
  keeper.reset();

  Result<std::optional<FromKeeper>> got = client->receive();

  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::unavailable);
}

TEST_F(ControlClientTest, NeverWaitsForAKeeperThatDoesNotRead) {
  Code code = Code::internal;
  for (int i = 0; i < 100'000 && code == Code::internal; ++i)
    if (Result<std::uint32_t> sent = client->send(wire::List{}); !sent) code = sent.error().code;

  EXPECT_EQ(code, Code::over_limit);
}

TEST(EngineConnect, NamesARemedyWhenNobodyListens) {
  Result<ControlClient> client = ControlClient::connect("/nonexistent/control");

  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::unavailable);
  EXPECT_FALSE(client.error().remedy.empty());
}

}  // namespace
}  // namespace vitrine::bench::control
