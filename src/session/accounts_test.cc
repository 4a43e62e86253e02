// SPDX-License-Identifier: Apache-2.0
#include "session/accounts.h"

#include <gtest/gtest.h>

namespace vitrine::session {
namespace {

using namespace std::chrono_literals;
using Rate = Accounts::Rate;

class AccountsTest : public testing::Test {
 protected:
  AccountsTest() {
    Identity identity{.name = "team"};
    identity.quota.sessions = 2;
    identity.quota.executions_per_minute = 6;
    identity.quota.memory_bytes = 1024ull << 20;
    accounts.open(identity);
    limits.memory_bytes = 256ull << 20;
    limits.disk_bytes = 128ull << 20;
  }

  std::string refused_session() {
    const auto refusal = accounts.refuses_session("team", limits, Rate::is_free);
    return refusal ? refusal->reason : "";
  }

  Accounts::Clock::time_point now{};
  Accounts accounts{[this] { return now; }};
  Limits limits;
};

TEST_F(AccountsTest, ChangesAQuotaForWhatIsThereAlready) {
  accounts.session_begins("team", limits, Rate::is_free);
  accounts.session_begins("team", limits, Rate::is_free);
  Identity identity{.name = "team"};
  identity.quota.sessions = 3;

  ASSERT_TRUE(accounts.change(identity));

  EXPECT_EQ(refused_session(), "");
  accounts.session_begins("team", limits, Rate::is_free);
  EXPECT_EQ(refused_session(), "quota_sessions");
  EXPECT_FALSE(accounts.change(Identity{.name = "another"}));
}

TEST_F(AccountsTest, CountsSessionsAtOnce) {
  accounts.session_begins("team", limits, Rate::is_free);
  EXPECT_EQ(refused_session(), "");
  accounts.session_begins("team", limits, Rate::is_free);
  EXPECT_EQ(refused_session(), "quota_sessions");

  accounts.session_ends("team", limits);

  EXPECT_EQ(refused_session(), "");
}

TEST_F(AccountsTest, CountsInstallationsAtOnceAndPerHour) {
  Identity identity{.name = "builders"};
  identity.quota.installations = 1;
  identity.quota.installations_per_hour = 2;
  accounts.open(identity);
  const auto refused = [&] {
    const auto refusal = accounts.refuses_installation("builders");
    return refusal ? refusal->reason : "";
  };

  accounts.installation_begins("builders");
  EXPECT_EQ(refused(), "quota_installations");
  accounts.installation_ends("builders");
  EXPECT_EQ(refused(), "");
  accounts.installation_begins("builders");
  accounts.installation_ends("builders");
  EXPECT_EQ(refused(), "installations_limited");
  EXPECT_EQ(accounts.refuses_installation("builders")->retry_after, std::chrono::seconds(1800));
  now += 30min;
  EXPECT_EQ(refused(), "");
  EXPECT_FALSE(accounts.refuses_installation("team")) << "what is not set is not limited";
}

TEST_F(AccountsTest, CountsMemoryAndFilesTogether) {
  limits.memory_bytes = 900ull << 20;
  limits.disk_bytes = 124ull << 20;
  EXPECT_EQ(refused_session(), "");

  limits.disk_bytes += 1;

  EXPECT_EQ(refused_session(), "quota_memory");
}

TEST_F(AccountsTest, LetsAMinutesWorthPassThenOneAtATime) {
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(accounts.refuses_execution("team"));
    accounts.execution_begins("team");
  }
  ASSERT_TRUE(accounts.refuses_execution("team"));
  EXPECT_EQ(accounts.refuses_execution("team")->reason, "rate_limited");
  EXPECT_EQ(accounts.refuses_execution("team")->retry_after, std::chrono::seconds(10));

  now += 10s;

  EXPECT_FALSE(accounts.refuses_execution("team"));
  accounts.execution_begins("team");
  EXPECT_TRUE(accounts.refuses_execution("team"));
}

TEST_F(AccountsTest, SavesNoMoreThanAMinutesWorth) {
  now += 24h;
  for (int i = 0; i < 6; ++i) accounts.execution_begins("team");

  EXPECT_TRUE(accounts.refuses_execution("team"));
}

TEST_F(AccountsTest, ACreationCountsAsAnExecution) {
  for (int i = 0; i < 6; ++i) accounts.execution_begins("team");

  EXPECT_EQ(accounts.refuses_session("team", limits, Rate::counts)->reason, "rate_limited");
  EXPECT_FALSE(accounts.refuses_session("team", limits, Rate::is_free));
}

TEST_F(AccountsTest, NeverRefusesThoseWithoutAnAccount) {
  for (int i = 0; i < 1000; ++i) accounts.session_begins("", limits, Rate::counts);

  EXPECT_FALSE(accounts.refuses_session("", limits, Rate::counts));
  EXPECT_FALSE(accounts.refuses_execution("owner"));
}

}  // namespace
}  // namespace vitrine::session
