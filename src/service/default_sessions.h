// SPDX-License-Identifier: Apache-2.0
// The session of clients that name none: the one called `default`, made when it is first needed.
//
// Each identity has its own. Whoever wants to run code in it creates a session of that name, or takes
// the id that the answers tell (`Vitrine-Session`). Quotas and idle time are those of any session.
// Threading: the front's one thread.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "service/operations.h"
#include "session/condition.h"

namespace vitrine::service {

inline constexpr const char* kDefaultName = "default";

class DefaultSessions {
 public:
  DefaultSessions(boost::asio::any_io_executor executor, Operations& operations)
      : operations_(operations), changes_(std::move(executor)) {}

  // A dead one can still be looked at; for other things it is replaced.
  enum class Dead { is_good_enough, is_replaced };
  Task<Result<SessionRef>> of(Identity asks, Dead dead, Client& client);

 private:
  SessionRef find(const Identity& asks, Dead dead) const;

  Operations& operations_;
  std::set<std::string> making_;  // identities whose session is on its way
  session::Condition changes_;
};

}  // namespace vitrine::service
