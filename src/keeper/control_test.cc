// SPDX-License-Identifier: Apache-2.0
#include "keeper/control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/packet.h"
#include "keeper/isolation_testing.h"
#include "keeper/loop_testing.h"

namespace vitrine::keeper {
namespace {

// A front: the other end of a connection of the keeper's.
class Peer {
 public:
  explicit Peer(Control& control) {
    Result<FdPair> pair = make_socketpair();
    EXPECT_TRUE(set_nonblocking(pair->first.get()));
    control.add(std::move(pair->first));
    socket_ = std::move(pair->second);
  }
  void send(std::uint32_t number, const wire::Request& request) {
    EXPECT_TRUE(send_packet(socket_.get(), wire::encode_request(number, request)));
  }
  bool try_send(std::string_view bytes) {
    return static_cast<bool>(send_packet(socket_.get(), bytes, {}, Wait::dont));
  }
  void send_bytes(std::string_view bytes) { EXPECT_TRUE(send_packet(socket_.get(), bytes)); }
  // The next thing that it was sent; empty = nothing.
  std::optional<wire::FromKeeper> next() {
    Result<Packet> packet = receive_packet(socket_.get(), wire::kMaxControl, 16, Wait::dont);
    if (!packet) return std::nullopt;
    fds = std::move(packet->fds);
    Result<wire::FromKeeper> message = wire::decode_from_keeper(packet->bytes);
    EXPECT_TRUE(message);
    return std::move(*message);
  }
  template <class T>
  std::optional<T> reply(std::uint32_t number) {
    std::optional<wire::FromKeeper> message = next();
    auto* numbered = message ? std::get_if<wire::NumberedReply>(&*message) : nullptr;
    if (numbered == nullptr || numbered->number != number) return std::nullopt;
    T* found = std::get_if<T>(&numbered->reply);
    return found == nullptr ? std::nullopt : std::optional<T>(std::move(*found));
  }
  bool is_cut_off() {
    Result<Packet> packet = receive_packet(socket_.get(), wire::kMaxControl, 16, Wait::dont);
    return !packet && packet.error().code == Code::unavailable;
  }
  void leave() { socket_.reset(); }

  std::vector<Fd> fds;  // of what came last

 private:
  Fd socket_;
};

class ControlTest : public testing::Test {
 protected:
  ControlTest() {
    isolation.descriptors = {null.get(), null.get(), null.get()};
    control.serve(sessions, encoders, gateway);
  }

  std::uint64_t create(Peer& peer) {
    peer.send(1, wire::Create{});
    time.settle();
    const std::optional<wire::Opened> opened = peer.reply<wire::Opened>(1);
    EXPECT_TRUE(opened);
    return opened ? opened->session : 0;
  }

  const Fd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  ManualLoop time;
  Reaper reaper;
  FakeIsolation isolation;
  Control control{time.loop(), [] { return KeeperInfo{.instance = "i"}; }, ::geteuid()};
  Sessions sessions{time.loop(), {{IsolationKind::process, &isolation}}, 3, control};
  Encoders encoders{time.loop(), reaper, Fd(), std::nullopt};
  GatewayProcess gateway{reaper, Fd(), std::nullopt};
};

TEST_F(ControlTest, AnswersEachRequestByItsNumber) {
  Peer front(control);
  front.send(7, wire::Info{});
  front.send(8, wire::List{});

  time.settle();

  EXPECT_EQ(front.reply<KeeperInfo>(7)->instance, "i");
  EXPECT_TRUE(front.reply<wire::Listed>(8));
}

TEST_F(ControlTest, AnswersNothingToARequestWithoutANumber) {
  Peer front(control);
  const std::uint64_t session = create(front);

  front.send(0, wire::Interrupt{.session = session, .execution = 4});
  time.settle();

  EXPECT_FALSE(front.next());
  EXPECT_EQ(isolation.only().calls, std::vector<std::string>{"interrupt 4"});
}

TEST_F(ControlTest, HandsTheWorkersDescriptorsOverByTheirRoles) {
  Peer front(control);
  front.send(1, wire::Create{});

  time.settle();
  const std::optional<wire::Opened> opened = front.reply<wire::Opened>(1);

  ASSERT_TRUE(opened);
  ASSERT_EQ(front.fds.size(), 3u);
  EXPECT_EQ(opened->fds.roles[0], wire::FdRole::session_socket);
  EXPECT_TRUE(opened->fds.take(wire::FdRole::stderr_pipe, front.fds));
}

TEST_F(ControlTest, CutsOffWhoSpeaksNonsenseAndNobodyElse) {
  Peer hostile(control);
  Peer front(control);
  const std::uint64_t session = create(front);

  hostile.send_bytes("nonsense");
  time.settle();

  EXPECT_TRUE(hostile.is_cut_off());
  front.send(2, wire::Kill{.session = session});
  time.settle();
  EXPECT_TRUE(front.reply<wire::Done>(2));
}

TEST_F(ControlTest, RefusesVerbsOfASessionThatDoesNotExist) {
  Peer front(control);
  const std::vector<wire::Request> requests{wire::End{9},
                                            wire::Interrupt{9, 1},
                                            wire::AskStack{9, 1},
                                            wire::Watch{9, 1, 1},
                                            wire::Unwatch{9},
                                            wire::Kill{9},
                                            wire::Reset{.session = 9},
                                            wire::Attach{9},
                                            wire::AskUsage{9},
                                            wire::OpenFile{9, "a"},
                                            wire::NewFile{9, "a"},
                                            wire::RemoveFile{9, "a"},
                                            wire::ListFiles{9},
                                            wire::Freeze{9, true},
                                            wire::EndLoop{.session = 9},
                                            wire::OpenDisplay{9},
                                            wire::StartEncoder{9},
                                            wire::MountLayers{9, {std::string(64, 'a')}}};
  for (std::uint32_t i = 0; i < requests.size(); ++i) front.send(i + 1, requests[i]);

  time.settle();

  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const std::optional<Error> error = front.reply<Error>(i + 1);
    ASSERT_TRUE(error) << requests[i].index();
    EXPECT_EQ(error->code, Code::not_found) << requests[i].index();
  }
}

TEST_F(ControlTest, SaysThatThereIsNoGatewayToStart) {
  Peer front(control);
  front.send(1, wire::StartGateway{});

  time.settle();

  const std::optional<Error> error = front.reply<Error>(1);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::unsupported);
  EXPECT_NE(error->remedy, "");
}

TEST_F(ControlTest, TellsADeathToTheFrontThatHasTheSessionNow) {
  Peer first(control);
  Peer second(control);
  const std::uint64_t session = create(first);
  second.send(1, wire::Attach{session});
  time.settle();
  ASSERT_TRUE(second.reply<wire::Opened>(1));

  isolation.only().observer.died({.cause = Cause::exited, .code = 3});

  EXPECT_FALSE(first.next());
  const std::optional<wire::FromKeeper> told = second.next();
  ASSERT_TRUE(told);
  EXPECT_EQ(std::get<wire::Died>(std::get<wire::Event>(*told)).death.code, 3);
}

TEST_F(ControlTest, KeepsTheSessionsOfAFrontThatLeft) {
  Peer first(control);
  const std::uint64_t session = create(first);

  first.leave();
  time.settle();
  Peer second(control);
  second.send(1, wire::Attach{session});
  time.settle();

  EXPECT_TRUE(second.reply<wire::Opened>(1));
  EXPECT_EQ(isolation.sandboxes.size(), 1u);
}

TEST_F(ControlTest, EndsASessionWhoseFrontLeftBeforeItWasMade) {
  isolation.holds = true;
  Peer front(control);
  front.send(1, wire::Create{});
  time.settle();

  front.leave();
  time.settle();
  isolation.deliver();

  EXPECT_EQ(isolation.given_back, 1);
  EXPECT_EQ(sessions.count(), 0u);
}

TEST_F(ControlTest, DropsAFileThatIsMadeForAFrontThatLeft) {
  Peer front(control);
  const std::uint64_t session = create(front);
  front.send(2, wire::NewFile{session, "a"});
  time.settle();
  Result<FdPair> pipe = make_pipe();
  ASSERT_EQ(isolation.only().files().creating.size(), 1u);

  front.leave();
  time.settle();
  isolation.only().files().creating.front()(std::move(pipe->second));

  char byte = 0;
  EXPECT_EQ(::read(pipe->first.get(), &byte, 1), 0) << "nobody holds the file any more";
}

TEST_F(ControlTest, CommitsNoFileOfAnotherConnectionOrSession) {
  Peer front(control);
  Peer other(control);
  const std::uint64_t session = create(front);
  front.send(2, wire::NewFile{session, "a"});
  time.settle();
  isolation.only().files().creating.front()(Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC)));
  const std::string hidden = front.reply<wire::FileOpened>(2)->hidden;

  other.send(1, wire::CommitFile{session, "a", hidden});
  time.settle();

  EXPECT_EQ(other.reply<Error>(1)->code, Code::invalid_argument);
  EXPECT_TRUE(isolation.only().files().committed.empty());
  front.send(3, wire::CommitFile{session, "a", hidden});
  time.settle();
  EXPECT_TRUE(front.reply<wire::Done>(3));
}

TEST_F(ControlTest, ReadsNoMoreFromAFrontThatDoesNotRead) {
  Peer deaf(control);
  const int flood = 5000;
  int sent = 0;
  for (int i = 0; i < flood; ++i, ++sent) {
    const std::string request = wire::encode_request(1, wire::Info{});
    if (!deaf.try_send(request)) break;
    time.settle();
  }

  EXPECT_LT(sent, flood) << "its requests must wait in its own socket";
  int answered = 0;
  for (int quiet = 0; quiet < 3;) {
    if (deaf.next()) ++answered, quiet = 0;
    else ++quiet;
    time.settle();
  }
  EXPECT_EQ(answered, sent) << "and nothing is lost when it reads again";
}

}  // namespace
}  // namespace vitrine::keeper
