// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/oom_watch.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>

#include "base/fd.h"
#include "keeper/loop_testing.h"

namespace vitrine::keeper {
namespace {

using std::chrono::milliseconds;

class OomWatchTest : public testing::Test {
 protected:
  std::unique_ptr<OomWatch> watch() {
    return std::make_unique<OomWatch>(
        time.loop(),
        OomWatch::Source{.event = event.get(),
                         .poll_events = EPOLLIN,
                         .kills = [this]() -> Result<std::uint64_t> { return kills; }},
        [this] { ++told; });
  }
  void notify() {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(event.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    time.settle();
  }

  ManualLoop time;
  Fd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::uint64_t kills = 0;
  int told = 0;
};

TEST_F(OomWatchTest, TellsOfAKill) {
  const auto oom = watch();
  kills = 1;

  notify();

  EXPECT_EQ(told, 1);
  EXPECT_TRUE(oom->saw_kill());
}

TEST_F(OomWatchTest, WaitsForAVictimThatIsChosenAfterTheNotification) {
  const auto oom = watch();
  notify();
  EXPECT_EQ(told, 0);

  kills = 1;
  time.advance(milliseconds(20));

  EXPECT_EQ(told, 1);
}

TEST_F(OomWatchTest, GivesUpOnANotificationWithoutAVictim) {
  const auto oom = watch();
  notify();

  time.advance(milliseconds(10'000));
  kills = 1;
  time.advance(milliseconds(10'000));

  EXPECT_EQ(told, 0) << "nobody looks any more";
  EXPECT_TRUE(oom->saw_kill()) << "but whoever asks learns of it";
}

TEST_F(OomWatchTest, CountsNoKillFromBefore) {
  kills = 3;
  const auto oom = watch();

  notify();
  time.advance(milliseconds(1000));

  EXPECT_EQ(told, 0);
  EXPECT_FALSE(oom->saw_kill());
}

TEST_F(OomWatchTest, IsSilentOnceItIsGone) {
  auto oom = watch();
  notify();

  oom.reset();
  kills = 1;
  notify();
  time.advance(milliseconds(1000));

  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace vitrine::keeper
