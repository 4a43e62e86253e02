// SPDX-License-Identifier: Apache-2.0
// `vitrine serve`: checks everything a person can get wrong, then becomes the keeper: the process
// keeps its id, so SIGTERM reaches the right one.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "app/commands.h"
#include "app/openenv_variables.h"
#include "app/package_settings.h"
#include "app/paths.h"
#include "app/serve_settings.h"
#include "app/tokens.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "model/host_ids.h"
#include "model/session.h"

namespace vitrine::app {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kUidBase =
    settings::kUidBase.otherwise;  // as root: of the ids that sessions get

// As root the front has a user id of its own.
Status give_to_front(const Fd& file) {
  if (::geteuid() != 0) return ok();
  Result<HostIds> ids = read_host_ids(kUidBase);
  if (!ids) return std::move(ids.error());
  if (::fchown(file.get(), ids->front, ids->front) != 0)
    return Error::from_errno("handing a file to the front");
  return ok();
}

Error data_error(const std::string& data, const std::string& why, const std::string& remedy) {
  return Error{
      .code = Code::invalid_argument, .message = "data '" + data + "' " + why, .remedy = remedy};
}

// The directory is handed to the front and closed to everyone else: never somebody's own files.
Status check_contents(const std::string& data) {
  std::error_code failed;
  bool empty = true;
  for (const fs::directory_entry& entry : fs::directory_iterator(data, failed)) {
    const std::string name = entry.path().filename();
    if (name == "lock" || name == "vitrine.db" || name == "token") return ok();
    empty = false;
  }
  if (failed)
    return data_error(data, "cannot be read: " + failed.message(), "name another with --data");
  if (empty) return ok();
  return data_error(data, "contains files that are not Vitrine's",
                    "name an empty or new directory with --data");
}

// Made, checked, and locked for as long as the keeper lives: the descriptor survives exec.
Result<Fd> take_data(const std::string& data) {
  std::error_code failed;
  fs::create_directories(fs::path(data).parent_path(), failed);
  if (::mkdir(data.c_str(), 0700) != 0 && errno != EEXIST)
    return data_error(data, "cannot be created: " + Error::from_errno("mkdir").message,
                      "name a directory you may write to with --data");
  if (!fs::is_directory(data, failed))
    return data_error(data, "is not a directory", "name another with --data");
  if (Status s = check_reachable(data); !s) return std::move(s.error());
  if (Status s = check_contents(data); !s) return std::move(s.error());
  Fd lock(::open((data + "/lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (!lock)
    return data_error(data, "cannot be written to: " + Error::from_errno("lock").message,
                      "name a directory you may write to with --data");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return data_error(data, "is used by another server",
                      "stop that one, or name another directory with --data");
  return lock;
}

// As root the front could not read a file that only root may read: it gets a copy in its directory.
Result<std::string> token_for_front(const std::string& given, const std::string& data) {
  Result<std::string> token = read_file(AT_FDCWD, given.c_str(), 4096);
  if (!token && exists(given))
    return Error{.code = Code::invalid_argument,
                 .message = "token_file '" + given + "' cannot be read",
                 .remedy = "make it readable for the user who starts the server"};
  if (token && token->find_last_not_of(" \t\r\n") + 1 < 16)
    return Error{.code = Code::invalid_argument,
                 .message = "token_file '" + given + "' holds fewer than 16 characters",
                 .remedy = "put a long random text there, such as from `openssl rand -hex 32`"};
  if (::geteuid() != 0) return given;
  if (!token)
    return Error{.code = Code::invalid_argument,
                 .message = "token_file '" + given + "' does not exist",
                 .remedy = "make it with `openssl rand -hex 32`, or leave --token-file out"};
  const std::string copy = data + "/token";
  ::unlink(copy.c_str());
  Fd file(::open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), token->data(), token->size()) < 0 || !give_to_front(file))
    return Error::from_errno("copying the token");
  return copy;
}

// The front reads a copy in its directory: it may have another uid, and one that is started anew must
// find the rules that were good. Regular expressions are checked by the front: Python knows them.
Result<std::string> rules_for_front(const std::string& given, const std::string& data) {
  if (given == "none" || given == "openenv") return given;
  const auto refused = [&](const std::string& why, const std::string& remedy) {
    return Error{.code = Code::invalid_argument,
                 .message = "reward '" + given + "' " + why,
                 .remedy = remedy};
  };
  Result<std::string> rules = read_file(AT_FDCWD, given.c_str(), 1u << 20);
  if (!rules)
    return refused("cannot be read: " + rules.error().message,
                   "use none, openenv, or a readable file of at most 1 MiB");
  boost::system::error_code failed;
  const boost::json::value parsed = boost::json::parse(*rules, failed);
  if (failed || !parsed.is_object() || !parsed.as_object().contains("groups"))
    return refused(failed ? "is not JSON: " + failed.message() : "has no field 'groups'",
                   "write it like {\"groups\": [{\"rules\": [{\"if\": {\"outcome\": [\"ok\"]}, "
                   "\"add\": 1}]}]}; see docs/rewards.md");
  const std::string copy = data + "/rules.json";
  ::unlink(copy.c_str());
  Fd file(::open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file ||
      ::write(file.get(), rules->data(), rules->size()) != static_cast<ssize_t>(rules->size()) ||
      !give_to_front(file))
    return Error::from_errno("copying the rules of rewards");
  return copy;
}

// Checked here, where a person can see it. As root the front gets a copy that it can read and that
// holds hashes only. A front that is started meanwhile finds the old copy or the new one.
Result<std::string> tokens_for_front(const std::string& given, const std::string& data) {
  Result<std::vector<Token>> tokens = load_tokens(given);
  if (!tokens) return std::move(tokens.error());
  if (::geteuid() != 0) return given;
  const std::string copy = data + "/tokens";
  const std::string draft = copy + ".new";
  const std::string text = tokens_json(*tokens);
  ::unlink(draft.c_str());
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      !give_to_front(file) || ::rename(draft.c_str(), copy.c_str()) != 0)
    return Error::from_errno("copying the tokens");
  return copy;
}

bool is_loopback(const std::string& listen) {
  return listen.starts_with("127.") || listen.starts_with("localhost:") ||
         listen.starts_with("[::1]:");
}

[[noreturn]] void become(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // Where pip finds its index may hold a password: what needs it has been written down.
  for (const char* name : {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL",
                           "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL"})
    ::unsetenv(name);
  ::execv(argv[0], argv.data());
  ::_exit(refuse(Error::from_errno("starting " + words[0]).with_remedy("build it: ./dev build"),
                 kOurFailure));
}

}  // namespace

int read_tokens(const std::string& file, const std::string& data) {
  Result<std::string> usable = tokens_for_front(file, data);
  return usable ? 0 : refuse(usable.error(), kUsage);
}

int serve(const ServeOptions& options) {
  Settings settings{.values = options.settings, .hosts = options.hosts};
  if (!options.config.empty())
    if (Status s = add_config(options.config, settings); !s) return refuse(s.error(), kUsage);
  if (Status s = validate(settings); !s) return refuse(s.error(), kUsage);

  HostIds ids;
  if (::geteuid() == 0) {
    Result<HostIds> mapped = read_host_ids(kUidBase);
    if (!mapped) return refuse(mapped.error(), kUsage);
    ids = *mapped;
  }
  const std::string image = settings.get("image", default_image());
  if (Status s = check_image(image); !s) return refuse(s.error(), kUsage);
  std::error_code failed;
  const std::string data =
      fs::weakly_canonical(fs::absolute(settings.get("data", default_data())), failed).string();
  Result<Fd> lock = take_data(data);
  if (!lock) return refuse(lock.error(), kUsage);
  std::string token_file = settings.get("token_file", "");
  if (!token_file.empty()) {
    token_file = fs::absolute(token_file).string();
    Result<std::string> usable = token_for_front(token_file, data);
    if (!usable) return refuse(usable.error(), kUsage);
    token_file = *usable;
  }
  std::string tokens = settings.get("tokens", "");
  std::string tokens_source;  // the operator's own, where `tokens` may be a copy
  if (!tokens.empty()) {
    tokens_source = fs::absolute(tokens).string();
    Result<std::string> usable = tokens_for_front(tokens_source, data);
    if (!usable) return refuse(usable.error(), kUsage);
    tokens = *usable;
  }

  Result<std::string> rules = rules_for_front(settings.get("reward", "openenv"), data);
  if (!rules) return refuse(rules.error(), kUsage);
  Result<PackagePlaces> packages = packages_for_front(settings, image, data, ids.front);
  if (!packages) return refuse(packages.error(), kUsage);
  Result<std::optional<Policy>> backend = read_executor_backend();
  if (!backend) return refuse(backend.error(), kUsage);
  const std::string policy =
      settings.get("policy", std::string(to_string(backend->value_or(Policy::native))));

  const std::string listen = settings.get("listen", "127.0.0.1:8000");
  const std::string auth = settings.get("auth", "auto");
  if (auth == "token" || (auth == "auto" && !is_loopback(listen)))
    std::fprintf(stderr, "vitrine: every request needs the token in %s\n",
                 (token_file.empty() ? data + "/token" : token_file).c_str());

  std::vector<std::string> words{companion("vitrine-keeper"),
                                 "--front",
                                 companion("vitrine-front"),
                                 "--listen",
                                 listen,
                                 "--data",
                                 data,
                                 "--image",
                                 image};
  words.insert(words.end(), {"--uid-base", std::to_string(kUidBase), "--name",
                             settings.get("name", "data-" + sha256_hex(data).substr(0, 12))});
  for (const char* name :
       {"pool", "pool_bare", "pool_seeded", "shells", "capacity", "isolation_floor"})
    for (const Setting& setting : kSettings)
      if (setting.name == std::string(name) && settings.values.contains(name))
        words.insert(words.end(), {flag_of(setting), settings.values.at(name)});
  if (!packages->wheels.empty()) words.insert(words.end(), {"--wheels", packages->wheels});
  // Whoever may make sessions without a token must not get our address for the asking. Packages are
  // installed by nobody's code, and have a way to their index all the same.
  const std::string network = settings.get("egress", auth == "none" ? "off" : "on");
  words.insert(words.end(), {"--egress", packages->has_index ? "on" : network});
  if (!packages->addresses.empty())
    words.insert(words.end(), {"--egress-index", packages->addresses});
  if (settings.values.contains("egress_allow_private"))
    words.insert(words.end(),
                 {"--egress-allow-private", settings.values.at("egress_allow_private")});
  if (!tokens_source.empty())
    words.insert(words.end(), {"--tokens", tokens_source, "--tokens-reader", companion("vitrine")});
  if (options.ephemeral) words.emplace_back("--ephemeral");
  words.insert(words.end(),
               {"--", "--data", data, "--auth", auth, "--reward", *rules, "--policy", policy});
  words.insert(words.end(), {"--packages", packages->file, "--network", network});
  if (settings.values.contains("history"))
    words.insert(words.end(), {"--history", settings.values.at("history")});
  if (settings.values.contains("recordings_mb"))
    words.insert(words.end(), {"--recordings-mb", settings.values.at("recordings_mb")});
  if (!token_file.empty()) words.insert(words.end(), {"--token-file", token_file});
  if (!tokens.empty()) words.insert(words.end(), {"--tokens", tokens});
  for (const std::string& host : settings.hosts) words.insert(words.end(), {"--host", host});
  lock->release();
  become(std::move(words));
}

}  // namespace vitrine::app
