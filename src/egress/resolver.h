// SPDX-License-Identifier: Apache-2.0
// Names to addresses, by the system's resolver, on threads of their own: it may hang, and then only
// the lookup hangs. Whoever asks has a time limit, and forgets what comes too late.
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

inline constexpr std::size_t kMaxAddresses = 64;  // of one name; more are none at all

// All addresses of a name; none = it has none, or cannot be asked for now.
using Lookup = std::function<std::vector<Address>(const std::string& name)>;
std::vector<Address> system_lookup(const std::string& name);

struct Answer {
  std::uint64_t number = 0;
  std::vector<Address> addresses;
};

class Resolver {
 public:
  static Result<Resolver> start(Lookup lookup, int threads);

  // False if too many wait already.
  bool ask(std::uint64_t number, std::string name);
  int fd() const;  // readable when there are answers
  std::vector<Answer> take();

 private:
  struct Shared;
  explicit Resolver(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace vitrine::egress
