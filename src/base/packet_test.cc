// SPDX-License-Identifier: Apache-2.0
#include "base/packet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

namespace vitrine {
namespace {

// Descriptors open in this process, the one used for counting not included.
std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return std::distance(begin(entries), end(entries)) - 1;
}

// What a hostile peer can do and send_packet() does not: any number of descriptors in one packet.
void send_raw(int socket, std::string_view bytes, int fd, std::size_t count) {
  std::vector<int> fds(count, fd);
  std::string control(CMSG_SPACE(sizeof(int) * count), '\0');
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * count);
  std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * count);
  ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

class PacketTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<FdPair> pair = make_socketpair();
    ASSERT_TRUE(pair);
    here_ = std::move(pair->first);
    there_ = std::move(pair->second);
    file_ = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    before_ = open_descriptors();
  }

  Fd here_;
  Fd there_;
  Fd file_;
  std::ptrdiff_t before_ = 0;
};

TEST_F(PacketTest, ArrivesAsItWasSent) {
  ASSERT_TRUE(send_packet(there_.get(), std::string_view("a\0b", 3)));

  Result<Packet> packet = receive_packet(here_.get(), 100, 0);

  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->bytes, std::string("a\0b", 3));
  EXPECT_TRUE(packet->fds.empty());
}

TEST_F(PacketTest, KeepsItsBorders) {
  ASSERT_TRUE(send_packet(there_.get(), "first"));
  ASSERT_TRUE(send_packet(there_.get(), "second"));

  EXPECT_EQ(receive_packet(here_.get(), 100, 0)->bytes, "first");
  EXPECT_EQ(receive_packet(here_.get(), 100, 0)->bytes, "second");
}

TEST_F(PacketTest, MayBeExactlyAsLongAsTheLimit) {
  ASSERT_TRUE(send_packet(there_.get(), "12345"));

  Result<Packet> packet = receive_packet(here_.get(), 5, 0);

  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->bytes, "12345");
}

TEST_F(PacketTest, IsRefusedWhenTooLongAndTheNextOneIsUnharmed) {
  ASSERT_TRUE(send_packet(there_.get(), "123456"));
  ASSERT_TRUE(send_packet(there_.get(), "next"));

  Result<Packet> packet = receive_packet(here_.get(), 5, 0);

  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error().code, Code::over_limit);
  EXPECT_EQ(receive_packet(here_.get(), 5, 0)->bytes, "next");
}

TEST_F(PacketTest, CarriesDescriptorsThatCloseOnExec) {
  Result<FdPair> pipe = make_pipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(send_packet(there_.get(), "two", {pipe->first.get(), pipe->second.get()}));

  Result<Packet> packet = receive_packet(here_.get(), 100, 2);

  ASSERT_TRUE(packet);
  ASSERT_EQ(packet->fds.size(), 2u);
  for (const Fd& fd : packet->fds) EXPECT_TRUE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC);
  ASSERT_EQ(::write(packet->fds[1].get(), "x", 1), 1);
  char got = 0;
  EXPECT_EQ(::read(pipe->first.get(), &got, 1), 1);
}

TEST_F(PacketTest, MayCarryDescriptorsAndNoBytes) {
  ASSERT_TRUE(send_packet(there_.get(), "", {file_.get()}));

  Result<Packet> packet = receive_packet(here_.get(), 100, 1);

  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet->bytes.empty());
  EXPECT_EQ(packet->fds.size(), 1u);
}

TEST_F(PacketTest, CarriesAsManyDescriptorsAsAreAllowed) {
  ASSERT_TRUE(send_packet(there_.get(), "full", std::vector<int>(kMaxPacketFds, file_.get())));

  Result<Packet> packet = receive_packet(here_.get(), 100, kMaxPacketFds);

  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->fds.size(), kMaxPacketFds);
}

TEST_F(PacketTest, IsNotSentWithTooManyDescriptors) {
  const Status sent =
      send_packet(there_.get(), "more", std::vector<int>(kMaxPacketFds + 1, file_.get()));

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::over_limit);
}

TEST_F(PacketTest, ClosesTheDescriptorsItHeld) {
  ASSERT_TRUE(send_packet(there_.get(), "x", {file_.get(), file_.get()}));

  { Result<Packet> packet = receive_packet(here_.get(), 100, 2); }

  EXPECT_EQ(open_descriptors(), before_);
}

TEST_F(PacketTest, IsRefusedWithDescriptorsWhenNoneWereWantedAndClosesThem) {
  for (const std::size_t count : {1u, 16u, 24u, 25u, 253u}) {
    send_raw(there_.get(), "x", file_.get(), count);

    Result<Packet> packet = receive_packet(here_.get(), 100, 0);

    ASSERT_FALSE(packet);
    EXPECT_EQ(packet.error().code, Code::over_limit);
    EXPECT_EQ(open_descriptors(), before_) << count << " descriptors were sent";
  }
}

TEST_F(PacketTest, NamesItsSenderWhenAskedTo) {
  ASSERT_TRUE(receive_names(here_.get()));
  ASSERT_TRUE(send_packet(there_.get(), "plain"));
  ASSERT_TRUE(send_naming(there_.get(), "named", ::getpid()));
  ASSERT_TRUE(send_packet(there_.get(), "full", std::vector<int>(kMaxPacketFds, file_.get())));

  for (const char* bytes : {"plain", "named", "full"}) {
    Result<Packet> packet = receive_packet(here_.get(), 100, kMaxPacketFds);

    ASSERT_TRUE(packet) << packet.error().describe();
    EXPECT_EQ(packet->bytes, bytes);
    EXPECT_EQ(packet->pid, ::getpid());
  }
}

TEST_F(PacketTest, NamesNobodyWhenNotAsked) {
  ASSERT_TRUE(send_naming(there_.get(), "named", ::getpid()));

  EXPECT_EQ(receive_packet(here_.get(), 100, 0)->pid, 0);
}

TEST_F(PacketTest, CannotNameAProcessThatIsNotThere) {
  EXPECT_FALSE(send_naming(there_.get(), "named", 0x3FFFFFFF));
}

TEST_F(PacketTest, IsRefusedWithMoreDescriptorsThanWantedAndClosesThem) {
  for (const std::size_t count : {2u, 3u, 16u}) {
    send_raw(there_.get(), "x", file_.get(), count);

    Result<Packet> packet = receive_packet(here_.get(), 100, 1);

    ASSERT_FALSE(packet);
    EXPECT_EQ(packet.error().code, Code::over_limit);
    EXPECT_EQ(open_descriptors(), before_) << count << " descriptors were sent";
  }
}

TEST_F(PacketTest, IsRefusedWithMoreDescriptorsThanAnyoneMaySendAndClosesThem) {
  for (const std::size_t count : {17u, 100u, 253u}) {
    send_raw(there_.get(), "x", file_.get(), count);

    Result<Packet> packet = receive_packet(here_.get(), 100, kMaxPacketFds);

    ASSERT_FALSE(packet);
    EXPECT_EQ(packet.error().code, Code::over_limit);
    EXPECT_EQ(open_descriptors(), before_) << count << " descriptors were sent";
  }
}

TEST_F(PacketTest, ClosesItsDescriptorsWhenItsBytesAreTooLong) {
  send_raw(there_.get(), "too long", file_.get(), 2);

  Result<Packet> packet = receive_packet(here_.get(), 3, 2);

  ASSERT_FALSE(packet);
  EXPECT_EQ(open_descriptors(), before_);
}

TEST_F(PacketTest, ClosesDescriptorsThatWereNeverReceived) {
  for (int i = 0; i < 10; ++i) send_raw(there_.get(), "x", file_.get(), 10);

  here_.reset();
  there_.reset();

  EXPECT_EQ(open_descriptors(), before_ - 2);
}

TEST_F(PacketTest, IsUnavailableWhenThePeerIsGone) {
  there_.reset();

  Result<Packet> packet = receive_packet(here_.get(), 100, 1);
  const Status sent = send_packet(here_.get(), "x");

  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error().code, Code::unavailable);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::unavailable) << "and no SIGPIPE";
}

TEST_F(PacketTest, ThatWasSentBeforeTheEndStillArrives) {
  ASSERT_TRUE(send_packet(there_.get(), "last words", {file_.get()}));
  there_.reset();

  Result<Packet> last = receive_packet(here_.get(), 100, 1);
  Result<Packet> end = receive_packet(here_.get(), 100, 1);

  ASSERT_TRUE(last);
  EXPECT_EQ(last->bytes, "last words");
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::unavailable);
}

TEST_F(PacketTest, WithoutBytesAndDescriptorsCountsAsTheEnd) {
  ASSERT_TRUE(send_packet(there_.get(), ""));

  Result<Packet> packet = receive_packet(here_.get(), 100, 1);

  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error().code, Code::unavailable);
}

TEST_F(PacketTest, DoesNotWaitWhenToldNotTo) {
  Result<Packet> packet = receive_packet(here_.get(), 100, 0, Wait::dont);

  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error().code, Code::timed_out);
}

TEST_F(PacketTest, SaysThatThePeerDoesNotReadInsteadOfWaiting) {
  Status sent = ok();
  for (int i = 0; i < 100'000 && sent; ++i)
    sent = send_packet(there_.get(), std::string(1000, 'x'), {}, Wait::dont);

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::over_limit);
}

TEST_F(PacketTest, LongerThanTheSocketTakesIsOverTheLimit) {
  const Status sent = send_packet(there_.get(), std::string(16 << 20, 'x'));

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::over_limit);
}

TEST_F(PacketTest, WaitsThroughASignal) {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // no SA_RESTART: recvmsg() ends with EINTR
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  const pthread_t waiting = ::pthread_self();
  std::thread peer([&] {
    for (int i = 0; i < 50; ++i) {
      ::pthread_kill(waiting, SIGUSR1);
      std::this_thread::yield();
    }
    EXPECT_TRUE(send_packet(there_.get(), "after the signals"));
  });

  Result<Packet> packet = receive_packet(here_.get(), 100, 0);

  peer.join();
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->bytes, "after the signals");
}

TEST_F(PacketTest, OfAnySizeAndAnyDescriptorsLeaksNothing) {
  std::mt19937 random(20260101);  // the same in every run
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };

  for (int i = 0; i < 2000; ++i) {
    const std::string bytes(1 + below(300), static_cast<char>(random()));
    const std::size_t fds = below(40);
    const std::size_t limit = 1 + below(300);
    const std::size_t wanted = below(kMaxPacketFds + 1);
    if (fds == 0) ASSERT_TRUE(send_packet(there_.get(), bytes));
    else send_raw(there_.get(), bytes, file_.get(), fds);

    Result<Packet> packet = receive_packet(here_.get(), limit, wanted);

    const bool fits = bytes.size() <= limit && fds <= wanted;
    ASSERT_EQ(static_cast<bool>(packet), fits)
        << bytes.size() << " bytes, limit " << limit << ", " << fds << " fds, wanted " << wanted;
    if (!packet) continue;
    EXPECT_EQ(packet->bytes, bytes);
    EXPECT_EQ(packet->fds.size(), fds);
  }

  EXPECT_EQ(open_descriptors(), before_);
}

}  // namespace
}  // namespace vitrine
