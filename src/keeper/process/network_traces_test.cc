// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/network_traces.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace vitrine::keeper {
namespace {

constexpr const char* kDev =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes\n"
    "    lo:       0       0    0    0    0     0          0         0        0\n";

TEST(UsedLoopback, IsFalseForADeviceThatCarriedNothing) { EXPECT_FALSE(used_loopback(kDev)); }

TEST(UsedLoopback, IsTrueOnceItCarriedAByte) {
  EXPECT_TRUE(used_loopback("    lo:     84       1    0\n"));
}

TEST(UsedLoopback, IsTrueWhereTheDeviceIsMissing) { EXPECT_TRUE(used_loopback("Inter-|\n")); }

constexpr const char* kSnmp =
    "Ip: Forwarding DefaultTTL InReceives OutRequests\n"
    "Ip: 1 64 0 0\n"
    "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens\n"
    "Tcp: 1 200 120000 -1 0\n"
    "Udp: InDatagrams NoPorts\n"
    "Udp: 0 0\n";

TEST(CountsNothing, TakesSettingsForNoTraces) { EXPECT_TRUE(counts_nothing(kSnmp)); }

TEST(CountsNothing, SeesASingleCounter) {
  std::string counted = kSnmp;
  counted.replace(counted.rfind("0 0"), 3, "0 1");

  EXPECT_FALSE(counts_nothing(counted));
}

TEST(CountsNothing, SeesANegativeCounter) { EXPECT_FALSE(counts_nothing("Udp: -1\n")); }

TEST(CountsNothing, ReadsTheTwoColumnsOfSnmp6) {
  EXPECT_TRUE(counts_nothing("Ip6InReceives\t0\nIp6OutNoRoutes\t0\n"));
  EXPECT_FALSE(counts_nothing("Ip6InReceives\t0\nIp6OutNoRoutes\t7\n"));
}

TEST(HasFlowLabels, LooksBelowTheHead) {
  EXPECT_FALSE(has_flow_labels("Label S Owner\n"));
  EXPECT_TRUE(has_flow_labels("Label S Owner\n0000c 1 0\n"));
}

TEST(OpenNetworkFiles, FailsForAProcessThatIsGone) { EXPECT_FALSE(open_network_files(-1)); }

// The files of a namespace, as files that a test can write.
class TracesIn : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Fd& file : files_) file = Fd(::memfd_create("net", MFD_CLOEXEC));
    write(0, kDev);
    write(1, kSnmp);
    write(2, "Ip6InReceives\t0\n");
    write(3, "TcpExt: SyncookiesSent\nTcpExt: 0\n");
    write(4, "Label S Owner\n");
  }
  void write(std::size_t file, std::string_view text) {
    ASSERT_EQ(0, ::ftruncate(files_[file].get(), 0));
    ASSERT_EQ(std::ssize(text), ::pwrite(files_[file].get(), text.data(), text.size(), 0));
  }

  NetworkFiles files_;
  NetworkTraces traces_;
};

TEST_F(TracesIn, AreNoneInACleanNamespaceHoweverOftenOneLooks) {
  EXPECT_FALSE(traces_.left_in(files_));
  EXPECT_FALSE(traces_.left_in(files_));
}

TEST_F(TracesIn, AreSeenInEveryFileAfterItWasClean) {
  const std::array<std::string, 5> used{"  lo: 84 1 0\n", std::string(kSnmp) + "UdpLite: 1\n",
                                        "Ip6InReceives\t1\n", "TcpExt: SyncookiesSent\nTcpExt: 1\n",
                                        "Label S Owner\n0000c 1 0\n"};
  for (std::size_t file = 0; file < used.size(); ++file) {
    SetUp();
    ASSERT_FALSE(traces_.left_in(files_));

    write(file, used[file]);

    EXPECT_TRUE(traces_.left_in(files_)) << file;
    EXPECT_TRUE(traces_.left_in(files_)) << file << ": a trace was remembered as clean";
  }
}

TEST_F(TracesIn, AreNotAnotherSetting) {
  ASSERT_FALSE(traces_.left_in(files_));
  std::string other = kSnmp;
  other.replace(other.find("1 64"), 4, "2 32");

  write(1, other);

  EXPECT_FALSE(traces_.left_in(files_));
}

TEST_F(TracesIn, AreFeltWhereNothingCanBeRead) {
  write(0, "");
  EXPECT_TRUE(traces_.left_in(files_));
  files_[0].reset();
  EXPECT_TRUE(traces_.left_in(files_));
  files_[0] = Fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(traces_.left_in(files_));
}

TEST_F(TracesIn, AreNoneInAFileThatTheKernelDoesNotHave) {
  files_[2].reset();
  files_[4].reset();

  EXPECT_FALSE(traces_.left_in(files_));
}

// What the proof rests on: a file that stays open tells what happened since.
TEST(OpenNetworkFiles, StayTrueWhileTheNamespaceIsUsed) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(2);
    Result<NetworkFiles> files = open_network_files(::getpid());
    NetworkTraces traces;
    if (!files || traces.left_in(*files) || traces.left_in(*files)) ::_exit(3);
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in nowhere{};
    nowhere.sin_family = AF_INET;
    nowhere.sin_port = htons(9);
    nowhere.sin_addr.s_addr = htonl(0x0A000001);
    (void)::sendto(socket.get(), "x", 1, 0, reinterpret_cast<sockaddr*>(&nowhere), sizeof nowhere);
    ::_exit(traces.left_in(*files) ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this host forbids namespaces";
  EXPECT_EQ(0, WEXITSTATUS(status));
}

}  // namespace
}  // namespace vitrine::keeper
