// SPDX-License-Identifier: Apache-2.0
#include "session/accounts.h"

#include <algorithm>
#include <cmath>

namespace vitrine::session {

namespace {

// Files live in memory, so a session may use the sum.
std::uint64_t memory_of(const Limits& limits) { return limits.memory_bytes + limits.disk_bytes; }

std::chrono::seconds seconds_until(double seconds) {
  return std::chrono::seconds(std::max(1, static_cast<int>(std::ceil(seconds))));
}

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void Accounts::open(const Identity& identity) {
  Account account{.quota = identity.quota, .filled = now_()};
  account.left = identity.quota.executions_per_minute.value_or(0);
  account.installations_left = identity.quota.installations_per_hour.value_or(0);
  accounts_[identity.name] = account;
}

bool Accounts::change(const Identity& identity) {
  Account* account = find(identity.name);
  if (account == nullptr) return false;
  const bool had_none = !account->quota.executions_per_minute;
  if (!account->quota.installations_per_hour)
    account->installations_left = identity.quota.installations_per_hour.value_or(0);
  account->quota = identity.quota;
  const double most = identity.quota.executions_per_minute.value_or(0);
  account->left = had_none ? most : std::min(account->left, most);
  account->filled = now_();
  return true;
}

// With what was refilled since.
Accounts::Account* Accounts::find(const std::string& owner) {
  const auto found = accounts_.find(owner);
  if (found == accounts_.end()) return nullptr;
  Account& account = found->second;
  const auto now = now_();
  const double minutes =
      std::chrono::duration<double, std::ratio<60>>(now - account.filled).count();
  account.filled = now;
  const double executions = account.quota.executions_per_minute.value_or(0);
  account.left = std::min(executions, account.left + minutes * executions);
  const double installations = account.quota.installations_per_hour.value_or(0);
  account.installations_left =
      std::min(installations, account.installations_left + minutes / 60 * installations);
  return &account;
}

std::optional<Error> Accounts::refuses_execution(const std::string& owner) {
  Account* account = find(owner);
  if (account == nullptr || !account->quota.executions_per_minute || account->left >= 1)
    return std::nullopt;
  const double per_second = *account->quota.executions_per_minute / 60.0;
  Error refusal{.code = Code::unavailable, .message = {}};
  refusal.reason = "rate_limited";
  refusal.message = "this token may start " +
                    std::to_string(*account->quota.executions_per_minute) +
                    " executions and sessions per minute";
  refusal.remedy = "wait as Retry-After says, or put more work into one execution";
  refusal.retry_after = seconds_until((1 - account->left) / per_second);
  return refusal;
}

void Accounts::execution_begins(const std::string& owner) {
  if (Account* account = find(owner)) account->left = std::max(0.0, account->left - 1);
}

std::optional<Error> Accounts::refuses_installation(const std::string& owner) {
  Account* account = find(owner);
  if (account == nullptr) return std::nullopt;
  const Quota& quota = account->quota;
  Error refusal{.code = Code::unavailable, .message = {}};
  if (quota.installations && account->installing >= *quota.installations) {
    refusal.reason = "quota_installations";
    refusal.message = "this token may have " + std::to_string(*quota.installations) +
                      " installations of packages at once";
    refusal.remedy = "wait until one is done, or request packages that are already installed";
    refusal.retry_after = std::chrono::seconds(5);
    return refusal;
  }
  if (!quota.installations_per_hour || account->installations_left >= 1) return std::nullopt;
  refusal.reason = "installations_limited";
  refusal.message = "this token may start " + std::to_string(*quota.installations_per_hour) +
                    " installations of packages per hour";
  refusal.remedy = "wait as Retry-After says, or request packages that are already installed";
  const double per_second = *quota.installations_per_hour / 3600.0;
  refusal.retry_after = seconds_until((1 - account->installations_left) / per_second);
  return refusal;
}

void Accounts::installation_begins(const std::string& owner) {
  Account* account = find(owner);
  if (account == nullptr) return;
  ++account->installing;
  account->installations_left = std::max(0.0, account->installations_left - 1);
}

void Accounts::installation_ends(const std::string& owner) {
  Account* account = find(owner);
  if (account != nullptr && account->installing > 0) --account->installing;
}

std::optional<Error> Accounts::refuses_session(const std::string& owner, const Limits& limits,
                                               Rate rate) {
  Account* account = find(owner);
  if (account == nullptr) return std::nullopt;
  Error refusal{.code = Code::unavailable, .message = {}};
  const Quota& quota = account->quota;
  if (quota.sessions && account->sessions >= *quota.sessions) {
    refusal.reason = "quota_sessions";
    refusal.message =
        "this token may have " + std::to_string(*quota.sessions) + " sessions at once";
    refusal.remedy = "end one with DELETE /v1/sessions/{id}; GET /v1/sessions lists them";
    return refusal;
  }
  if (quota.memory_bytes && account->memory_bytes + memory_of(limits) > *quota.memory_bytes) {
    refusal.reason = "quota_memory";
    refusal.message = "memory_mb and disk_mb of this token's sessions may be " +
                      in_mib(*quota.memory_bytes) + " together, " + in_mib(account->memory_bytes) +
                      " are taken and " + in_mib(memory_of(limits)) + " were requested";
    refusal.remedy = "request smaller limits.memory_mb and limits.disk_mb, or end a session";
    return refusal;
  }
  if (rate == Rate::counts) return refuses_execution(owner);
  return std::nullopt;
}

void Accounts::session_begins(const std::string& owner, const Limits& limits, Rate rate) {
  Account* account = find(owner);
  if (account == nullptr) return;
  ++account->sessions;
  account->memory_bytes += memory_of(limits);
  if (rate == Rate::counts) execution_begins(owner);
}

void Accounts::session_ends(const std::string& owner, const Limits& limits) {
  Account* account = find(owner);
  if (account == nullptr) return;
  --account->sessions;
  account->memory_bytes -= memory_of(limits);
}

}  // namespace vitrine::session
