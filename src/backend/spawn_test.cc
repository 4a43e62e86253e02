// SPDX-License-Identifier: Apache-2.0
#include "backend/spawn.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <stdexcept>

namespace vitrine {
namespace {

boost::asio::awaitable<void> fails() {
  throw std::runtime_error("no such page");
  co_return;
}

boost::asio::awaitable<void> counts(int& done) {
  ++done;
  co_return;
}

TEST(Spawn, LogsWhatTheTaskThrew) {
  boost::asio::io_context context;
  testing::internal::CaptureStderr();

  spawn(context.get_executor(), fails(), "settle");
  context.run();

  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find("error front: a task failed task=settle reason=no such page"),
            std::string::npos)
      << line;
}

TEST(Spawn, RunsTheTaskAndLogsNothingOfItsEnd) {
  boost::asio::io_context context;
  int done = 0;
  testing::internal::CaptureStderr();

  spawn(context.get_executor(), counts(done), "count");
  context.run();

  EXPECT_EQ(done, 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace vitrine
