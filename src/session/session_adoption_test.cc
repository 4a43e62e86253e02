// SPDX-License-Identifier: Apache-2.0
// Sessions that a front takes over from the one before it.
#include "session/session.h"

#include <gtest/gtest.h>

#include "testing/one_session.h"

namespace vitrine::session {
namespace {

using std::chrono::milliseconds;

TEST_F(SessionTest, GoesOnWithWhatRanWhenTheFrontBeforeDied) {
  auto session = make();
  session->restore(kNumber, running(4, "slow()"), 4);
  connect(*session, Session::Origin::adopted);
  EXPECT_EQ(worker.count(wire::Type::resume), 1u);
  EXPECT_EQ(worker.count(wire::Type::setup), 0u);
  EXPECT_TRUE(session->busy());

  worker.result(4, "lost: it comes again after ready");
  worker.ready(4);
  worker.say(wire::Type::note, 4, "again", wire::kReplay);
  worker.finished(4);
  front.settle();

  EXPECT_FALSE(session->busy());
  EXPECT_EQ(ended, std::vector<std::string>{"slow()"});
  EXPECT_EQ(worker.count(wire::Type::execute), 0u) << "its code runs once";
}

TEST_F(SessionTest, EndsAnExecutionThatNeverReachedTheWorker) {
  auto session = make();
  session->restore(kNumber, running(4, "never sent"), 0);
  connect(*session, Session::Origin::adopted);

  worker.ready(3);
  front.settle();

  EXPECT_FALSE(session->busy());
  EXPECT_EQ(ended, std::vector<std::string>{"never sent"});
}

TEST_F(SessionTest, WatchesARestoredExecutionThatTheKeeperNeverHeardOf) {
  auto session = make({.limits = {.exec_time = milliseconds(1000)}});
  session->restore(kNumber, running(4, "slow()"), 0);
  connect(*session, Session::Origin::adopted);

  front.advance(milliseconds(21));

  EXPECT_EQ(front.keeper.count<wire::Watch>(), 1u);
}

TEST_F(SessionTest, LetsNewExecutionsWaitUntilAnAdoptedWorkerIsReady) {
  auto session = make();
  connect(*session, Session::Origin::adopted);
  execute(*session, "new");
  EXPECT_EQ(worker.count(wire::Type::execute), 0u);

  worker.ready(11);
  front.settle();

  EXPECT_EQ(worker.code(0), "new");
  EXPECT_EQ(worker.heard().back().execution, 12u) << "numbers go on";
}

TEST_F(SessionTest, DropsTheAnswerToTheResumeOfAnotherFront) {
  auto session = make();
  connect(*session, Session::Origin::adopted);
  execute(*session, "new");

  worker.ready(11, 12345);
  front.settle();
  EXPECT_EQ(worker.count(wire::Type::execute), 0u);
  EXPECT_EQ(front.keeper.count<wire::Kill>(), 0u);
  worker.ready(11);
  front.settle();

  EXPECT_EQ(worker.code(0), "new");
}

TEST_F(SessionTest, DoesNotBelieveAnAbsurdExecutionNumber) {
  auto session = make();
  connect(*session, Session::Origin::adopted);

  worker.ready(1ull << 60);
  front.settle();

  EXPECT_EQ(front.keeper.count<wire::Kill>(), 1u);
}

}  // namespace
}  // namespace vitrine::session
