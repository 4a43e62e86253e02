// SPDX-License-Identifier: Apache-2.0
// Looks up names with the system's resolver, on threads of its own, because a lookup may hang. The
// caller has a timeout, and drops answers that come later.
//
// Threading: ask() and take() from one thread; the lookup runs on the resolver's threads, which live
// until the process ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "egress/policy.h"

namespace vitrine::egress {

inline constexpr std::size_t kMaxAddresses = 64;  // of one name; a name with more has none

// All addresses of a name; empty if there are none or the lookup failed.
using Lookup = std::function<std::vector<Address>(const std::string& name)>;
std::vector<Address> system_lookup(const std::string& name);

struct Answer {
  std::uint64_t number = 0;
  std::vector<Address> addresses;
};

class Resolver {
 public:
  static Result<Resolver> start(Lookup lookup, int threads);

  // False if too many lookups are queued.
  bool ask(std::uint64_t number, std::string name);
  int fd() const;  // readable when there are answers
  std::vector<Answer> take();

 private:
  struct Shared;
  explicit Resolver(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace vitrine::egress
