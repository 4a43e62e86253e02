// SPDX-License-Identifier: Apache-2.0
// What each identity has of its quotas: sessions, memory, executions per minute, and installations.
//
// A refusal is an `unavailable` error whose reason names the quota: rate_limited, quota_sessions,
// quota_memory, quota_installations, installations_limited.
// Identities without a quota have no account here and are never refused.
// Threading: the front's one thread. Nothing of it is stored: the registry counts anew what it adopts.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "backend/clock.h"
#include "base/result.h"
#include "model/identity.h"
#include "model/limits.h"

namespace vitrine::session {

class Accounts {
 public:
  using Clock = vitrine::Clock;
  explicit Accounts(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  void open(const Identity& identity);
  // Another quota for what it has already. False if it has no account.
  bool change(const Identity& identity);

  // Whether one more session with these limits is too much. `counts` as an execution or not.
  enum class Rate { counts, is_free };
  std::optional<Error> refuses_session(const std::string& owner, const Limits& limits, Rate rate);
  void session_begins(const std::string& owner, const Limits& limits, Rate rate);
  void session_ends(const std::string& owner, const Limits& limits);

  std::optional<Error> refuses_execution(const std::string& owner);
  void execution_begins(const std::string& owner);

  // Of packages that nobody has installed yet: what is there, or on its way, counts for nobody.
  std::optional<Error> refuses_installation(const std::string& owner);
  void installation_begins(const std::string& owner);
  void installation_ends(const std::string& owner);

 private:
  struct Account {
    Quota quota;
    std::uint64_t sessions = 0;
    std::uint64_t memory_bytes = 0;
    double left = 0;  // executions; a minute's worth at most, refilled evenly
    std::uint32_t installing = 0;
    double installations_left = 0;  // an hour's worth at most
    Clock::time_point filled;
  };
  Account* find(const std::string& owner);

  std::function<Clock::time_point()> now_;
  std::map<std::string, Account> accounts_;
};

}  // namespace vitrine::session
