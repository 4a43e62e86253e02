// SPDX-License-Identifier: Apache-2.0
// The keeper's sessions on a fake isolation, with a clock and owners that a test holds.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <utility>

#include "keeper/isolation_testing.h"
#include "keeper/loop_testing.h"
#include "keeper/sessions.h"

namespace vitrine::keeper {

inline constexpr std::uint64_t kOwner = 5;
inline constexpr Death kExited{.cause = Cause::exited, .code = 3};
inline constexpr Death kKilled{.cause = Cause::signalled, .code = SIGKILL};

class SessionsTest : public testing::Test {
 protected:
  std::uint64_t create() {
    std::uint64_t id = 0;
    sessions.create({}, kOwner, [&](Result<wire::Opened> opened) {
      EXPECT_TRUE(opened);
      if (opened) id = opened->session;
    });
    return id;
  }
  // Keeps the answer of a verb; empty = it has not come.
  auto keep(std::optional<Status>& answer) {
    return [&answer](Status status) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(status);
    };
  }
  auto keep(std::optional<Result<wire::Opened>>& answer) {
    return [&answer](Result<wire::Opened> opened) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(opened);
    };
  }
  Code refusal(const wire::Create& request) {
    std::optional<Result<wire::Opened>> answer;
    sessions.create(request, kOwner, keep(answer));
    return answer && !*answer ? answer->error().code : Code::internal;
  }

  ManualLoop time;
  FakeIsolation isolation;
  FakeOwners owners;
  Sessions sessions{time.loop(), {{IsolationKind::process, &isolation}}, 3, owners};
};

}  // namespace vitrine::keeper
