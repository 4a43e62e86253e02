// SPDX-License-Identifier: Apache-2.0
#include "app/tokens.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "base/fd.h"
#include "base/sha256.h"

namespace vitrine::app {

namespace json = boost::json;

namespace {

constexpr std::size_t kMaxFile = 1u << 20;
constexpr std::size_t kMaxTokens = 1000;
constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 1024;

Error wrong(const std::string& field, const std::string& why, const std::string& remedy) {
  return Error{.code = Code::invalid_argument, .message = field + ": " + why, .remedy = remedy};
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

bool is_hash(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// One entry of the list; the first mistake is kept.
class Entry {
 public:
  Entry(const json::object& object, std::string prefix)
      : object_(object), prefix_(std::move(prefix)) {}

  Result<Token> read() {
    Token token;
    token.identity.name = text("name");
    if (!error_ && !is_name(token.identity.name))
      fail("name", "it is missing or not a plain name", "use 1 to 64 letters, digits, -, _ and .");
    if (token.identity.name == kOwnerName || token.identity.name == "anonymous")
      fail("name", "it is taken by the server itself", "use another name");
    read_secret(token);
    Quota& quota = token.identity.quota;
    if (auto n = whole("sessions", 100'000)) quota.sessions = static_cast<std::uint32_t>(*n);
    if (auto n = whole("executions_per_minute", 10'000'000))
      quota.executions_per_minute = static_cast<std::uint32_t>(*n);
    if (auto n = whole("memory_mb", 1u << 30)) quota.memory_bytes = *n << 20;
    if (auto n = whole("installations", 1000)) quota.installations = static_cast<std::uint32_t>(*n);
    if (auto n = whole("installations_per_hour", 1'000'000))
      quota.installations_per_hour = static_cast<std::uint32_t>(*n);
    for (const auto& [key, value] : object_)
      if (!known_.contains(std::string(key)))
        fail(std::string(key), "there is no such field",
             "known are: name, token, sha256, sessions, executions_per_minute, memory_mb, "
             "installations, installations_per_hour");
    if (error_) return std::move(*error_);
    return token;
  }

 private:
  void fail(const std::string& field, const std::string& why, const std::string& remedy) {
    if (!error_) error_ = wrong(prefix_ + field, why, remedy);
  }

  const json::value* find(const char* name) {
    known_.insert(name);
    return object_.if_contains(name);
  }

  std::string text(const char* name) {
    const json::value* value = find(name);
    if (value == nullptr) return "";
    if (value->is_string()) return std::string(value->as_string());
    fail(name, "it is not a string", "put it in quotes");
    return "";
  }

  std::optional<std::uint64_t> whole(const char* name, std::uint64_t most) {
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    const bool fits = value->is_int64() && value->as_int64() >= 1 &&
                      static_cast<std::uint64_t>(value->as_int64()) <= most;
    if (fits) return static_cast<std::uint64_t>(value->as_int64());
    fail(name, "it is not a whole number from 1 to " + std::to_string(most),
         "write such a number, or leave it out for no limit");
    return std::nullopt;
  }

  void read_secret(Token& token) {
    const std::string plain = text("token");
    token.sha256 = text("sha256");
    if (object_.contains("token") == object_.contains("sha256"))
      return fail("token", "either token or sha256 is needed, and not both",
                  "make a token with `openssl rand -hex 32`");
    if (object_.contains("sha256")) {
      if (!is_hash(token.sha256))
        fail("sha256", "it is not 64 hex digits in lower case",
             "write what `printf %s TOKEN | sha256sum` prints");
      return;
    }
    if (plain.size() < kShortest || plain.size() > kLongest || !is_printable(plain))
      return fail("token", "it is not 16 to 1024 printable characters without spaces",
                  "make one with `openssl rand -hex 32`");
    token.sha256 = sha256_hex(plain);
  }

  const json::object& object_;
  std::string prefix_;
  std::set<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<Token>> parse_tokens(const std::string& text) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  const json::object* object = failed ? nullptr : parsed.if_object();
  const json::value* list = object == nullptr ? nullptr : object->if_contains("tokens");
  const std::string example =
      "write it like {\"tokens\": [{\"name\": \"team-a\", \"token\": \"...\"}]}";
  if (failed) return wrong("the file", "it is not JSON: " + failed.message(), example);
  if (list == nullptr || !list->is_array() || object->size() != 1)
    return wrong("the file", "it is not an object with the one field `tokens`, a list", example);
  if (list->as_array().size() > kMaxTokens)
    return wrong("tokens", "there are over 1000", "use fewer");
  std::vector<Token> tokens;
  std::set<std::string> names;
  std::set<std::string> hashes;
  for (const json::value& one : list->as_array()) {
    const std::string where = "tokens[" + std::to_string(tokens.size()) + "]";
    if (!one.is_object()) return wrong(where, "it is not an object", example);
    Result<Token> token = Entry(one.as_object(), where + ".").read();
    if (!token) return std::move(token.error());
    if (!names.insert(token->identity.name).second)
      return wrong(where + ".name", "another token has it too", "give each a name of its own");
    if (!hashes.insert(token->sha256).second)
      return wrong(where + ".token", "another name has the same token",
                   "give each name a token of its own");
    tokens.push_back(std::move(*token));
  }
  return tokens;
}

std::string tokens_json(const std::vector<Token>& tokens) {
  json::array list;
  for (const Token& token : tokens) {
    json::object one{{"name", token.identity.name}, {"sha256", token.sha256}};
    const Quota& quota = token.identity.quota;
    if (quota.sessions) one["sessions"] = *quota.sessions;
    if (quota.executions_per_minute) one["executions_per_minute"] = *quota.executions_per_minute;
    if (quota.memory_bytes) one["memory_mb"] = *quota.memory_bytes >> 20;
    if (quota.installations) one["installations"] = *quota.installations;
    if (quota.installations_per_hour) one["installations_per_hour"] = *quota.installations_per_hour;
    list.push_back(std::move(one));
  }
  return json::serialize(json::object{{"tokens", std::move(list)}}) + "\n";
}

Result<std::vector<Token>> load_tokens(const std::string& file) {
  const std::string named = "tokens '" + file + "'";
  Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!opened || ::fstat(opened.get(), &info) != 0)
    return Error{.code = Code::invalid_argument,
                 .message = named + " cannot be read: " + Error::from_errno("open").message,
                 .remedy = "name a file that the user who starts the server may read"};
  if (!S_ISREG(info.st_mode))
    return Error{.code = Code::invalid_argument,
                 .message = named + " is not a file",
                 .remedy = "name a JSON file with --tokens"};
  if ((info.st_mode & S_IRWXO) != 0)
    return Error{.code = Code::invalid_argument,
                 .message = named + " is open to every user of the machine",
                 .remedy = "chmod 600 it, and replace its tokens if the machine has other users"};
  Result<std::string> text = read_file(AT_FDCWD, file.c_str(), kMaxFile);
  if (!text) return std::move(text.error()).during(named);
  Result<std::vector<Token>> tokens = parse_tokens(*text);
  if (!tokens) return std::move(tokens.error()).during(named);
  return tokens;
}

}  // namespace vitrine::app
