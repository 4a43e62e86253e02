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
#include <variant>

#include "api/problem.h"
#include "session/changes.h"
#include "session/registry.h"

namespace vitrine::api {

inline constexpr const char* kDefaultName = "default";

class DefaultSessions {
 public:
  DefaultSessions(asio::any_io_executor executor, session::Registry& registry)
      : registry_(registry), changes_(std::move(executor)) {}

  // A dead one can still be looked at; for other things it is replaced.
  enum class Dead { is_good_enough, is_replaced };
  using Found = std::variant<std::shared_ptr<session::Session>, Problem>;
  Task<Found> of(Identity asks, Dead dead);

 private:
  std::shared_ptr<session::Session> find(const Identity& asks, Dead dead) const;

  session::Registry& registry_;
  std::set<std::string> making_;  // identities whose session is on its way
  session::Changes changes_;
};

}  // namespace vitrine::api
