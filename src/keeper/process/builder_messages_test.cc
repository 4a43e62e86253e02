// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/builder_messages.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/packet.h"

namespace vitrine::keeper {
namespace {

// The two ends of a builder's socket, and a descriptor to send.
struct Line {
  Result<FdPair> ends = make_socketpair();
  Fd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};

  int keeper() const { return ends->first.get(); }
  int builder() const { return ends->second.get(); }
  Asked heard() const {
    Result<Packet> packet = receive_packet(builder(), 64 * 1024, kMaxPacketFds);
    EXPECT_TRUE(packet);
    return decode_build_request(packet->bytes, packet->fds.size());
  }
};

TEST(BuilderMessages, BringAShellWithItsDoors) {
  Line line;
  const int fd = line.null.get();
  const BuildShell shell{.shell = 7,
                         .slot = 3,
                         .disk_bytes = 1ull << 33,
                         .inodes = 99,
                         .fail_at = 2,
                         .has_cgroup = true};

  ASSERT_TRUE(send_build_shell(line.keeper(), shell, {fd, fd, fd, fd}));
  const Asked asked = line.heard();

  EXPECT_EQ(asked.what, 7u);
  ASSERT_TRUE(asked.request);
  const auto* got = std::get_if<BuildShell>(&*asked.request);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->slot, 3u);
  EXPECT_EQ(got->disk_bytes, 1ull << 33);
  EXPECT_EQ(got->inodes, 99u);
  EXPECT_EQ(got->fail_at, 2u);
  EXPECT_TRUE(got->has_cgroup);
}

TEST(BuilderMessages, BringAZygoteAndWhatItIsStartedWith) {
  Line line;
  const int fd = line.null.get();
  const StartZygote zygote{
      .zygote = 8, .argv = {"/usr/bin/python3", "-c"}, .environment = {"A=b"}, .packages = "lab"};

  ASSERT_TRUE(send_start_zygote(line.keeper(), zygote, fd, fd, fd));
  const Asked asked = line.heard();

  ASSERT_TRUE(asked.request);
  const auto* got = std::get_if<StartZygote>(&*asked.request);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->argv, zygote.argv);
  EXPECT_EQ(got->environment, zygote.environment);
  EXPECT_EQ(got->packages, "lab");
}

TEST(BuilderMessages, BringADisplayLayersAndAListener) {
  Line line;
  const int fd = line.null.get();
  StartDisplay display{.display = 9, .slot = 4, .geometry = {}, .has_helper = true};
  display.cookie[3] = 42;

  ASSERT_TRUE(send_start_display(line.keeper(), display, {fd, fd, fd}));
  const Asked shown = line.heard();
  ASSERT_TRUE(send_mount_layers(line.keeper(),
                                {.request = 10, .layers = {"k", "l"}, .environment = "e"}, fd));
  const Asked added = line.heard();
  ASSERT_TRUE(send_listen_inside(line.keeper(), {.what = 11, .port = 8080}, fd));
  const Asked listens = line.heard();

  ASSERT_TRUE(shown.request && added.request && listens.request);
  EXPECT_EQ(std::get<StartDisplay>(*shown.request).cookie, display.cookie);
  EXPECT_TRUE(std::get<StartDisplay>(*shown.request).has_helper);
  EXPECT_EQ(std::get<MountLayers>(*added.request).layers, (LayerList{"k", "l"}));
  EXPECT_EQ(std::get<MountLayers>(*added.request).environment, "e");
  EXPECT_EQ(std::get<ListenInside>(*listens.request).port, 8080);
  EXPECT_EQ(listens.what, 11u);
}

TEST(BuilderMessages, RefuseARequestWithoutItsDescriptors) {
  Line line;
  const int fd = line.null.get();

  ASSERT_TRUE(send_build_shell(line.keeper(), {.shell = 1, .has_cgroup = true}, {fd}));
  const Asked shell = line.heard();
  ASSERT_TRUE(send_start_display(line.keeper(), {.display = 2, .has_helper = true}, {fd, fd}));
  const Asked display = line.heard();

  EXPECT_FALSE(shell.request);
  EXPECT_EQ(shell.what, 1u);
  EXPECT_FALSE(display.request);
  EXPECT_EQ(display.what, 2u);
}

TEST(BuilderMessages, RefuseWhatIsNoRequest) {
  EXPECT_FALSE(decode_build_request("", 0).request);
  EXPECT_FALSE(decode_build_request(std::string(9, '\x7f'), 1).request);
}

TEST(BuilderMessages, BringAnAnswerBack) {
  Line line;

  ASSERT_TRUE(answer_cloned(line.builder(), 5, Error{Code::over_limit, "too many"}));
  Result<Cloned> failed = receive_cloned(line.keeper());
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->what, 5u);
  EXPECT_LT(failed->pid, 0);
  EXPECT_EQ(failed->error.message, "too many");

  Fd listener(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(answer_listener(line.builder(), 6, std::move(listener)));
  Result<Cloned> listening = receive_cloned(line.keeper());
  ASSERT_TRUE(listening);
  EXPECT_EQ(listening->what, 6u);
  EXPECT_TRUE(listening->listener);
}

}  // namespace
}  // namespace vitrine::keeper
