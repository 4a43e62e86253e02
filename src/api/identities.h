// SPDX-License-Identifier: Apache-2.0
// Which token belongs to whom.
//
// Trust: what is asked for is hostile. Tokens are kept and compared as hashes, each with all of them,
//        so that the time tells neither whether one was close nor which one it was.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/identity.h"

namespace vitrine::api {

class Identities {
 public:
  // The owner's token comes first; others may follow. An empty one belongs to nobody.
  explicit Identities(std::string_view owner_token = {}, std::span<const Token> others = {});

  const Identity* find(std::string_view token) const;  // null = nobody's
  const Identity& anonymous() const { return anonymous_; }
  bool has_named() const { return tokens_.size() > 1; }
  // Whoever may come: the anonymous one, the owner, the others.
  std::vector<const Identity*> all() const;

  // Another list of tokens beside the owner's. A name that was there is the same identity, with
  // another token and quota; one that is not there any more has no token; what is new is returned.
  // `invalid_argument` if one of them is the owner's: then nothing has changed.
  Result<std::vector<const Identity*>> change(std::span<const Token> others);
  // Whether a token leads to it: the anonymous one needs none.
  bool is_welcome(const Identity& identity) const;

 private:
  Identity anonymous_;
  std::deque<Token> tokens_;  // only grows: identities are handed out as pointers
};

// Equal, in a time that does not tell where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace vitrine::api
