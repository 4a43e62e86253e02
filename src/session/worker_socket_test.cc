// SPDX-License-Identifier: Apache-2.0
#include "session/worker_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <vector>

#include "base/packet.h"
#include "wire/messages.h"

namespace vitrine::session {
namespace {

using Origin = WorkerSocket::Origin;

// A worker that says what it likes, and the front's end.
struct Pair {
  boost::asio::io_context context;
  Result<FdPair> ends = make_socketpair();
  int worker = ends->second.get();
  std::shared_ptr<WorkerSocket> front =
      std::make_shared<WorkerSocket>(context.get_executor(), std::move(ends->first), Origin::fresh);
  std::vector<std::string> applied;

  void say(std::string_view bytes, const std::vector<int>& fds = {}) const {
    ASSERT_TRUE(send_packet(worker, bytes, fds));
  }
  Result<bool> take(int most) {
    return front->take(
        most, [this](const wire::Message& message) { applied.push_back(message.payload); });
  }
};

std::string note(std::uint32_t sequence, std::string_view text) {
  return wire::encode_frame({wire::Type::note, 0, 1, sequence, text});
}

TEST(WorkerSocket, HearsWholeMessagesInOrder) {
  Pair pair;
  pair.say(note(0, "one") + note(1, "two"));
  pair.say(wire::encode_frame({wire::Type::note, wire::kMore, 1, 2, "th"}));
  pair.say(wire::encode_frame({wire::Type::note, wire::kRest, 1, 3, "ree"}));

  Result<bool> more = pair.take(64);

  ASSERT_TRUE(more) << more.error().message;
  EXPECT_TRUE(*more);
  EXPECT_EQ(pair.applied, (std::vector<std::string>{"one", "two", "three"}));
}

TEST(WorkerSocket, TakesSoManyFramesAndLeavesTheRest) {
  Pair pair;
  for (std::uint32_t i = 0; i < 5; ++i) pair.say(note(i, "x"));

  ASSERT_TRUE(pair.take(2));
  EXPECT_EQ(pair.applied.size(), 2u);
  ASSERT_TRUE(pair.take(64));
  EXPECT_EQ(pair.applied.size(), 5u);
}

TEST(WorkerSocket, EndsWithTheWorker) {
  Pair pair;
  pair.say(note(0, "last words"));
  pair.ends->second.reset();

  Result<bool> more = pair.take(64);

  ASSERT_TRUE(more);
  EXPECT_FALSE(*more);
  EXPECT_EQ(pair.applied, std::vector<std::string>{"last words"});
}

TEST(WorkerSocket, HearsTheLastWordsOfAWorkerThatDiedBeforeItReadAll) {
  Pair pair;
  pair.front->send(wire::Type::input, 1, wire::Input{.bytes = "nobody reads this"}.encode());
  pair.say(note(0, "last words"));
  pair.ends->second.reset();

  Result<bool> more = pair.take(64);

  ASSERT_TRUE(more);
  EXPECT_FALSE(*more);
  EXPECT_EQ(pair.applied, std::vector<std::string>{"last words"});
}

TEST(WorkerSocket, BelievesNothingAfterABreach) {
  Pair nonsense;
  nonsense.say("nonsense");
  EXPECT_FALSE(nonsense.take(64));

  Pair jump;
  jump.say(note(0, "one"));
  jump.say(note(7, "eight"));
  EXPECT_FALSE(jump.take(64));
  EXPECT_EQ(jump.applied.size(), 1u);

  Pair front_like;
  front_like.say(wire::encode_frame({wire::Type::execute, 0, 1, 0, "x"}));
  EXPECT_FALSE(front_like.take(64));
}

TEST(WorkerSocket, TakesNoDescriptorsAndNothingTooBig) {
  Pair descriptors;
  descriptors.say(note(0, "take this"), {0});
  Result<bool> sent = descriptors.take(64);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().message, "it sent descriptors");

  Pair big;
  const std::string bytes(wire::kMaxFrame + 1, 'x');
  ASSERT_EQ(::send(big.worker, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  Result<bool> large = big.take(64);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::over_limit);
}

TEST(WorkerSocket, ShowsNothingMoreOnceItIsStopped) {
  Pair pair;
  pair.say(note(0, "one") + note(1, "two"));
  int shown = 0;

  Result<bool> more = pair.front->take(64, [&](const wire::Message&) {
    ++shown;
    pair.front->stop();
  });

  ASSERT_TRUE(more);
  EXPECT_FALSE(*more);
  EXPECT_EQ(shown, 1);
}

TEST(WorkerSocket, SendsWhatDoesNotFitAsSoonAsThereIsRoom) {
  Pair pair;
  const std::string code(4u << 20, 'c');
  pair.front->send(wire::Type::execute, 1, code);
  pair.front->send(wire::Type::input, 1, "after it");
  wire::Assembler assembler(wire::Assembler::Direction::from_client);
  std::vector<wire::Message> got;

  while (got.size() < 2) {
    pair.context.restart();
    pair.context.poll();
    Result<Packet> packet = receive_packet(pair.worker, wire::kMaxFrame, 0);
    ASSERT_TRUE(packet);
    Result<wire::Frame> frame = wire::decode_frame(packet->bytes);
    ASSERT_TRUE(frame);
    Result<std::optional<wire::Message>> message = assembler.add(*frame);
    ASSERT_TRUE(message) << message.error().message;
    if (*message) got.push_back(std::move(**message));
  }

  EXPECT_EQ(got[0].payload, code);
  EXPECT_EQ(got[1].payload, "after it");
}

}  // namespace
}  // namespace vitrine::session
