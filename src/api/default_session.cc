// SPDX-License-Identifier: Apache-2.0
#include "api/default_session.h"

#include "api/request_parts.h"

namespace vitrine::api {

using session::Session;

// The newest that lives, else the newest.
std::shared_ptr<Session> DefaultSessions::find(const Identity& asks, Dead dead) const {
  std::shared_ptr<Session> living;
  std::shared_ptr<Session> any;
  for (const std::shared_ptr<Session>& one : registry_.list(asks)) {
    // Those who see all have one of their own.
    if (one->spec.name != kDefaultName || one->spec.owner != asks.name || one->ended) continue;
    any = one;
    if (!one->death) living = one;
  }
  return living || dead == Dead::is_replaced ? living : any;
}

Task<DefaultSessions::Found> DefaultSessions::of(Identity asks, Dead dead) {
  while (making_.contains(asks.name)) co_await changes_.wait();
  if (std::shared_ptr<Session> found = find(asks, dead)) {
    found->touch();
    co_return found;
  }
  struct Making {
    DefaultSessions& of;
    std::string name;
    Making(DefaultSessions& one, std::string who) : of(one), name(std::move(who)) {
      of.making_.insert(name);
    }
    ~Making() {
      of.making_.erase(name);
      of.changes_.tell();
    }
  } making(*this, asks.name);
  session::SessionSpec spec;
  spec.name = kDefaultName;
  spec.owner = asks.name;
  spec.policy = registry_.default_policy();
  if (auto refusal = registry_.refuses(spec)) co_return refused(*refusal);
  Result<std::shared_ptr<Session>> made = co_await registry_.create(std::move(spec));
  if (!made) co_return creation_problem(made.error());
  co_return *made;
}

}  // namespace vitrine::api
