// SPDX-License-Identifier: Apache-2.0
#include "app/front_options.h"

#include <fcntl.h>
#include <unistd.h>

#include <cctype>

#include "api/openenv/routes.h"
#include "app/tokens.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "session/ids_and_time.h"

namespace vitrine::app {

namespace {

// The token in the file, or a new one put there, readable for its owner only.
Result<std::string> load_token(const std::string& path) {
  Result<std::string> found = read_file(AT_FDCWD, path.c_str(), 4096);
  if (found) {
    while (!found->empty() && std::isspace(static_cast<unsigned char>(found->back())) != 0)
      found->pop_back();
    if (found->size() < 16)
      return Error{.code = Code::invalid_argument,
                   .message = "the token file has fewer than 16 characters",
                   .remedy = "put a long random text there, or delete the file"};
    return found;
  }
  std::string token = session::new_id() + session::new_id();
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string text = token + "\n";
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Error::from_errno("writing the token file");
  return token;
}

}  // namespace

Result<api::Identities> load_identities(const FrontOptions& options) {
  Result<std::string> owner =
      load_token(options.token_file.empty() ? options.data + "/token" : options.token_file);
  if (!owner) return std::move(owner.error());
  std::vector<Token> others;
  if (!options.tokens_file.empty()) {
    Result<std::vector<Token>> loaded = load_tokens(options.tokens_file);
    if (!loaded) return std::move(loaded.error());
    others = std::move(*loaded);
  }
  for (const Token& one : others)
    if (one.sha256 == sha256_hex(*owner))
      return Error{.code = Code::invalid_argument,
                   .message = "the token of '" + one.identity.name + "' is the owner's",
                   .remedy = "give it one of its own"};
  return api::Identities(*owner, others);
}

Result<std::string> load_rules(const std::string& reward) {
  if (reward == "none") return std::string();
  if (reward == "openenv") return api::openenv::openenv_rules();
  Result<std::string> rules = read_file(AT_FDCWD, reward.c_str(), 1u << 20);
  if (!rules)
    rules.error().remedy = "--reward takes none, openenv, or a file that uid " +
                           std::to_string(::geteuid()) + " may read";
  return rules;
}

Result<packages::Config> load_packages(const std::string& file) {
  packages::Config off;
  off.on = false;
  if (file.empty()) return off;
  Result<std::string> text = read_file(AT_FDCWD, file.c_str(), 4u << 20);
  if (!text) return std::move(text.error());
  return packages::config_from_json(*text);
}

}  // namespace vitrine::app
