// SPDX-License-Identifier: Apache-2.0
#include "keeper/loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "keeper/loop_testing.h"

namespace vitrine::keeper {
namespace {

using std::chrono::milliseconds;

TEST(Loop, RunsTimersInTheOrderOfTheirTimes) {
  ManualLoop time;
  std::string ran;
  time.loop().after(milliseconds(20), [&] { ran += 'b'; });
  time.loop().after(milliseconds(10), [&] { ran += 'a'; });

  time.advance(milliseconds(15));
  EXPECT_EQ(ran, "a");

  time.advance(milliseconds(5));
  EXPECT_EQ(ran, "ab");
}

TEST(Loop, RunsATimerThatATimerSetAtItsOwnMoment) {
  ManualLoop time;
  std::vector<Clock::time_point> ran;
  time.loop().after(milliseconds(10), [&] {
    time.loop().after(milliseconds(10), [&] { ran.push_back(time.now()); });
  });
  const Clock::time_point start = time.now();

  time.advance(milliseconds(100));

  ASSERT_EQ(ran.size(), 1u);
  EXPECT_EQ(ran[0] - start, milliseconds(20));
}

TEST(Loop, ForgetsATimerThatWasCancelled) {
  ManualLoop time;
  bool ran = false;
  const TimerId timer = time.loop().after(milliseconds(10), [&] { ran = true; });

  time.loop().cancel(timer);
  time.advance(milliseconds(100));

  EXPECT_FALSE(ran);
}

TEST(Loop, TellsAReadyDescriptorFromAnOldOneOfItsNumber) {
  ManualLoop time;
  Result<FdPair> pipe = make_pipe();
  ASSERT_TRUE(pipe);
  int old_events = 0;
  int new_events = 0;
  ASSERT_TRUE(time.loop().watch(pipe->first.get(), EPOLLIN, [&](std::uint32_t) { ++old_events; }));
  ASSERT_TRUE(time.loop().watch(pipe->first.get(), EPOLLIN, [&](std::uint32_t) { ++new_events; }));
  ASSERT_EQ(::write(pipe->second.get(), "x", 1), 1);

  time.loop().poll();

  EXPECT_EQ(old_events, 0);
  EXPECT_EQ(new_events, 1);
}

}  // namespace
}  // namespace vitrine::keeper
