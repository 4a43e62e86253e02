// SPDX-License-Identifier: Apache-2.0
#include "api/identities.h"

#include <algorithm>

#include "base/sha256.h"

namespace vitrine::api {

bool same_secret(std::string_view a, std::string_view b) {
  unsigned char different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i] ^ (b.empty() ? 0 : b[i % b.size()]));
  return different == 0 && !a.empty();
}

Identities::Identities(std::string_view owner_token, std::span<const Token> others) {
  Token owner;
  owner.identity.name = kOwnerName;
  owner.identity.sees_all = true;
  if (!owner_token.empty()) owner.sha256 = sha256_hex(owner_token);
  tokens_.push_back(std::move(owner));
  tokens_.insert(tokens_.end(), others.begin(), others.end());
}

const Identity* Identities::find(std::string_view token) const {
  if (token.empty()) return nullptr;
  const std::string hash = sha256_hex(token);
  const Identity* found = nullptr;
  for (const Token& one : tokens_)
    if (same_secret(one.sha256, hash)) found = &one.identity;
  return found;
}

Result<std::vector<const Identity*>> Identities::change(std::span<const Token> others) {
  for (const Token& one : others)
    if (same_secret(one.sha256, tokens_.front().sha256))
      return Error{.code = Code::invalid_argument,
                   .message = "the token of '" + one.identity.name + "' is the owner's",
                   .remedy = "give it one of its own"};
  std::vector<const Identity*> added;
  for (std::size_t i = 1; i < tokens_.size(); ++i) tokens_[i].sha256.clear();
  for (const Token& one : others) {
    const auto known =
        std::ranges::find_if(tokens_.begin() + 1, tokens_.end(),
                             [&](const Token& t) { return t.identity.name == one.identity.name; });
    if (known != tokens_.end()) {
      *known = one;
      continue;
    }
    tokens_.push_back(one);
    added.push_back(&tokens_.back().identity);
  }
  return added;
}

bool Identities::is_welcome(const Identity& identity) const {
  return std::ranges::none_of(tokens_, [&](const Token& token) {
    return &token.identity == &identity && token.sha256.empty();
  });
}

std::vector<const Identity*> Identities::all() const {
  std::vector<const Identity*> everybody{&anonymous_};
  for (const Token& one : tokens_) everybody.push_back(&one.identity);
  return everybody;
}

}  // namespace vitrine::api
