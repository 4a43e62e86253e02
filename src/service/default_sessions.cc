// SPDX-License-Identifier: Apache-2.0
#include "service/default_sessions.h"

namespace vitrine::service {

// The newest that lives, else the newest.
SessionRef DefaultSessions::find(const Identity& asks, Dead dead) const {
  SessionRef living;
  SessionRef any;
  for (const SessionRef& one : operations_.list(asks)) {
    // Those who see all have one of their own.
    if (one->spec().name != kDefaultName || one->spec().owner != asks.name || one->is_ended())
      continue;
    any = one;
    if (!one->death()) living = one;
  }
  return living || dead == Dead::is_replaced ? living : any;
}

Task<Result<SessionRef>> DefaultSessions::of(Identity asks, Dead dead, Client& client) {
  while (making_.contains(asks.name)) co_await changes_.wait();
  if (const SessionRef found = find(asks, dead)) co_return operations_.find(asks, found->id);
  struct Making {
    DefaultSessions& of;
    std::string name;
    Making(DefaultSessions& one, std::string who) : of(one), name(std::move(who)) {
      of.making_.insert(name);
    }
    ~Making() {
      of.making_.erase(name);
      of.changes_.notify_all();
    }
  } making(*this, asks.name);
  SessionRequest request;
  request.spec.name = kDefaultName;
  request.spec.owner = asks.name;
  request.spec.policy = operations_.default_policy();
  co_return co_await operations_.create(std::move(request), client);
}

}  // namespace vitrine::service
