// SPDX-License-Identifier: Apache-2.0
#include "api/identities.h"

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

std::vector<const Identity*> Identities::all() const {
  std::vector<const Identity*> everybody{&anonymous_};
  for (const Token& one : tokens_) everybody.push_back(&one.identity);
  return everybody;
}

}  // namespace vitrine::api
