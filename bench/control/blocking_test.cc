// SPDX-License-Identifier: Apache-2.0
#include "control/blocking.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "control/fake_session.h"

namespace vitrine::bench::control {
namespace {

using std::chrono::milliseconds;

const wire::Execute kCell{.code = "1+1", .stdin_bytes = {}, .environment = {}};

// A session whose worker and keeper have said all they will say before anybody asks.
class BlockingTest : public testing::Test {
 protected:
  BlockingTest() {
    Result<FdPair> pair = make_socketpair();
    client.emplace(ControlClient(std::move(pair->first)), WaitOptions{.most = milliseconds(200)});
    keeper = std::move(pair->second);
  }

  void tell(const wire::Event& event) {
    ASSERT_TRUE(send_packet(keeper.get(), encode_event(event)));
  }

  std::optional<BlockingClient> client;
  Fd keeper;
  FakeSession session;
};

TEST_F(BlockingTest, KeepsAnswersThatComeInAnotherOrder) {
  Result<std::uint32_t> first = client->start(wire::List{});
  Result<std::uint32_t> second = client->start(wire::Info{});
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(send_packet(keeper.get(), wire::encode_reply(*second, KeeperInfo{.instance = "i"})));
  ASSERT_TRUE(send_packet(keeper.get(), wire::encode_reply(*first, wire::Listed{})));

  Result<Answer> listed = client->finish(*first);
  Result<Answer> told = client->finish(*second);

  ASSERT_TRUE(listed && told);
  EXPECT_TRUE(std::holds_alternative<wire::Listed>(listed->reply));
  EXPECT_EQ(std::get<KeeperInfo>(told->reply).instance, "i");
}

TEST_F(BlockingTest, TimesOutOnASilentKeeper) {
  Result<KeeperInfo> info = client->info();

  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, Code::timed_out);
}

TEST_F(BlockingTest, RunsAnExecutionToItsEnd) {
  ASSERT_EQ(::write(session.out.get(), "out", 3), 3);
  ASSERT_EQ(::write(session.err.get(), "err", 3), 3);
  session.say(wire::Type::note, 1, 0, "a note");
  session.say(wire::Type::finished, 1, 1, wire::Finished{.exit_code = 0}.encode());

  Result<Execution> execution = run(*client, *session.channel, 1, kCell);

  ASSERT_TRUE(execution);
  ASSERT_TRUE(execution->finished);
  EXPECT_FALSE(execution->death);
  EXPECT_EQ(execution->out.bytes, "out");
  EXPECT_EQ(execution->err.bytes, "err");
  ASSERT_EQ(execution->messages.size(), 1u);
  EXPECT_EQ(execution->messages[0].payload, "a note");
}

TEST_F(BlockingTest, IgnoresLateWordsOfAnEarlierExecution) {
  session.say(wire::Type::finished, 1, 0, wire::Finished{.exit_code = 1}.encode());
  session.say(wire::Type::finished, 2, 0, wire::Finished{.exit_code = 0}.encode());

  Result<Execution> execution = run(*client, *session.channel, 2, kCell);

  ASSERT_TRUE(execution && execution->finished);
  EXPECT_EQ(execution->finished->exit_code, 0);
}

TEST_F(BlockingTest, AsksTheKeeperWhyAWorkerIsGone) {
  ASSERT_EQ(::write(session.out.get(), "last words", 10), 10);
  session.worker.reset();
  session.out.reset();
  session.err.reset();
  tell(wire::Died{.session = 1, .death = {.cause = Cause::oom, .code = 9}});

  Result<Execution> execution = run(*client, *session.channel, 1, kCell);

  ASSERT_TRUE(execution);
  EXPECT_FALSE(execution->finished);
  ASSERT_TRUE(execution->death);
  EXPECT_EQ(execution->death->cause, Cause::oom);
  EXPECT_EQ(execution->out.bytes, "last words");
}

TEST_F(BlockingTest, ReportsADeathInTheMiddle) {
  session.say(wire::Type::note, 1, 0, "about to fall");
  tell(wire::TimedOut{.session = 1, .execution = 1});
  tell(wire::Died{.session = 2, .death = {.cause = Cause::exited, .code = 3}});
  tell(wire::Died{.session = 1, .death = {.cause = Cause::timeout, .code = 9}});

  Result<Execution> execution = run(*client, *session.channel, 1, kCell);

  ASSERT_TRUE(execution);
  EXPECT_FALSE(execution->finished);
  ASSERT_TRUE(execution->death);
  EXPECT_EQ(execution->death->cause, Cause::timeout);
  EXPECT_TRUE(execution->timed_out);
  EXPECT_EQ(execution->messages.size(), 1u);
  EXPECT_TRUE(client->take_event(2)) << "the other session's death is kept for it";
}

TEST_F(BlockingTest, AnswersAQuestionWithEndOfFile) {
  session.say(wire::Type::input_request, 1, 0, wire::InputRequest{.prompt = "name?"}.encode());
  session.say(wire::Type::finished, 1, 1, wire::Finished{}.encode());

  ASSERT_TRUE(run(*client, *session.channel, 1, kCell));

  EXPECT_EQ(session.heard()->type, wire::Type::execute);
  std::optional<wire::Message> input = session.heard();
  ASSERT_TRUE(input);
  EXPECT_TRUE(wire::Input::decode(input->payload)->end_of_file);
}

TEST_F(BlockingTest, DropsMessagesBeyondItsBounds) {
  for (std::uint32_t i = 0; i < 20; ++i)
    session.say(wire::Type::note, 1, i, std::string(1000, 'x'));
  session.say(wire::Type::finished, 1, 20, wire::Finished{}.encode());

  Result<Execution> execution = run(*client, *session.channel, 1, kCell, {.message_bytes = 5000});

  ASSERT_TRUE(execution && execution->finished);
  EXPECT_TRUE(execution->messages_dropped);
  EXPECT_LT(execution->messages.size(), 5u);
}

TEST_F(BlockingTest, GivesUpOnAWorkerThatLies) {
  session.say(wire::Type::finished, 1, 0, "no such payload");

  Result<Execution> execution = run(*client, *session.channel, 1, kCell);

  ASSERT_FALSE(execution);
  EXPECT_EQ(execution.error().code, Code::invalid_argument);
}

TEST_F(BlockingTest, WatchesAnExecutionOnlyWhenAskedTo) {
  session.say(wire::Type::finished, 1, 0, wire::Finished{}.encode());

  ASSERT_TRUE(run(*client, *session.channel, 1, kCell, {.time = milliseconds(500)}));

  Result<Packet> watch = receive_packet(keeper.get(), wire::kMaxControl, 0, Wait::dont);
  Result<Packet> unwatch = receive_packet(keeper.get(), wire::kMaxControl, 0, Wait::dont);
  ASSERT_TRUE(watch && unwatch);
  EXPECT_EQ(std::get<wire::Watch>(wire::decode_request(watch->bytes)->request).milliseconds, 500u);
  EXPECT_TRUE(std::holds_alternative<wire::Unwatch>(wire::decode_request(unwatch->bytes)->request));
}

}  // namespace
}  // namespace vitrine::bench::control
