// SPDX-License-Identifier: Apache-2.0
#include "control/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "control/fake_session.h"

namespace vitrine::bench::control {
namespace {

TEST(Channel, SendsWhatTheWorkerUnderstands) {
  FakeSession session;

  ASSERT_TRUE(session.channel->execute(3, {.code = "1+1", .stdin_bytes = {}, .environment = {}}));

  std::optional<wire::Message> message = session.heard();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, wire::Type::execute);
  EXPECT_EQ(message->execution, 3u);
  EXPECT_EQ(wire::Execute::decode(message->payload)->code, "1+1");
}

TEST(Channel, KeepsWhatTheWorkerDoesNotTakeYet) {
  FakeSession session;
  const std::string code(8 << 20, '#');

  ASSERT_TRUE(session.channel->execute(1, {.code = code, .stdin_bytes = {}, .environment = {}}));
  ASSERT_TRUE(session.channel->unsent());
  std::optional<wire::Message> message;
  for (int turn = 0; turn < 10'000 && !message; ++turn) {
    message = session.heard();
    ASSERT_TRUE(session.channel->flush());
  }

  ASSERT_TRUE(message);
  EXPECT_FALSE(session.channel->unsent());
  EXPECT_EQ(wire::Execute::decode(message->payload)->code, code);
}

TEST(Channel, RefusesAMessageThatIsTooLong) {
  FakeSession session;
  const std::string code(17 << 20, '#');

  Status sent = session.channel->execute(1, {.code = code, .stdin_bytes = {}, .environment = {}});

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::over_limit);
  EXPECT_FALSE(session.channel->unsent()) << "a part of it would confuse the worker";
}

TEST(Channel, JoinsTheFramesOfAMessage) {
  FakeSession session;
  session.say(wire::Type::result, 1, 0, "one ", wire::kMore);
  session.say(wire::Type::result, 1, 1, "two", wire::kRest);

  Result<std::optional<wire::Message>> message = session.channel->receive();

  ASSERT_TRUE(message && *message);
  EXPECT_EQ((*message)->payload, "one two");
}

TEST(Channel, HasNothingWhileAMessageIsNotWhole) {
  FakeSession session;
  session.say(wire::Type::result, 1, 0, "one ", wire::kMore);

  Result<std::optional<wire::Message>> message = session.channel->receive();

  ASSERT_TRUE(message);
  EXPECT_FALSE(*message);
}

TEST(Channel, DoesNotBelieveAWorkerThatLies) {
  for (const char* lie : {"", "x", "this is no frame at all, but long enough for a header"}) {
    FakeSession session;
    ASSERT_GE(::send(session.worker.get(), lie, std::strlen(lie), MSG_NOSIGNAL), 0);

    EXPECT_FALSE(session.channel->receive()) << lie;
  }
}

TEST(Channel, RefusesAFrameThatIsTooLongInsteadOfCuttingIt) {
  FakeSession session;
  std::string frame = wire::encode_frame({.type = wire::Type::note, .payload = "fits"});
  frame.resize(wire::kMaxFrame + 100);
  ASSERT_GT(::send(session.worker.get(), frame.data(), frame.size(), MSG_NOSIGNAL), 0);

  Result<std::optional<wire::Message>> message = session.channel->receive();

  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Code::over_limit);
}

TEST(Channel, RefusesAFrameThatOnlyClientsSend) {
  FakeSession session;
  session.say(wire::Type::execute, 1, 0, "");

  EXPECT_FALSE(session.channel->receive());
}

TEST(Channel, RefusesASequenceThatJumps) {
  FakeSession session;
  session.say(wire::Type::note, 1, 5, "late");

  EXPECT_FALSE(session.channel->receive());
}

TEST(Channel, SkipsAfterResumingWhatTheClientBeforeHadHalfRead) {
  FakeSession session;
  ASSERT_TRUE(session.channel->resume());
  EXPECT_EQ(session.heard()->type, wire::Type::resume);
  session.say(wire::Type::result, 1, 4, "tail", wire::kRest);
  session.say(wire::Type::note, 1, 5, "whole");

  Result<std::optional<wire::Message>> message = session.channel->receive();

  ASSERT_TRUE(message && *message);
  EXPECT_EQ((*message)->payload, "whole");
}

TEST(Channel, SaysWhenTheWorkerIsGone) {
  FakeSession session;
  session.worker.reset();

  Result<std::optional<wire::Message>> message = session.channel->receive();
  Status sent = session.channel->input(1, {.end_of_file = true, .bytes = {}});

  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Code::unavailable);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::unavailable);
}

TEST(Channel, DrainsWhatIsThereAndNeverWaits) {
  FakeSession session;
  Captured captured;
  ASSERT_EQ(::write(session.out.get(), "hello", 5), 5);

  Result<bool> some = session.channel->drain(Stream::out, captured, 100);
  Result<bool> none = session.channel->drain(Stream::out, captured, 100);

  ASSERT_TRUE(some && none);
  EXPECT_TRUE(*some);
  EXPECT_FALSE(*none);
  EXPECT_EQ(captured.bytes, "hello");
  EXPECT_FALSE(captured.truncated);
}

TEST(Channel, KeepsNoMoreOfAStreamThanAsked) {
  FakeSession session;
  Captured captured;
  ASSERT_EQ(::write(session.err.get(), "0123456789", 10), 10);

  ASSERT_TRUE(session.channel->drain(Stream::err, captured, 4));

  EXPECT_EQ(captured.bytes, "0123");
  EXPECT_TRUE(captured.truncated);
}

TEST(Channel, KnowsAStreamThatHasEnded) {
  FakeSession session;
  ASSERT_EQ(::write(session.out.get(), "x", 1), 1);
  session.out.reset();
  Captured captured;

  EXPECT_FALSE(session.channel->ended(Stream::out)) << "it is not empty yet";
  ASSERT_TRUE(session.channel->drain(Stream::out, captured, 100));

  EXPECT_TRUE(session.channel->ended(Stream::out));
  EXPECT_FALSE(session.channel->ended(Stream::err));
}

}  // namespace
}  // namespace vitrine::bench::control
