// SPDX-License-Identifier: Apache-2.0
#include "app/server_access.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>

#include "app/paths.h"

namespace vitrine::app {

namespace json = boost::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kProbe = 200ms;
constexpr auto kStart = 60s;
constexpr auto kStop = 15s;  // it drains for at most ten

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Other programs answer /health too, on the same port.
bool is_vitrine(const Server& server) {
  Result<Response> health =
      exchange(server, {.method = "GET", .target = "/health", .timeout = kProbe});
  if (!health || health->status != 200) return false;
  Result<Response> info = exchange(server, {.method = "GET", .target = "/v1/info", .timeout = 2s});
  return info && info->status == 200 && info->body.find("\"vitrine\"") != std::string::npos;
}

std::string temporary_directory() {
  std::string base = variable("TMPDIR");
  if (base.empty() || base[0] != '/' || !check_reachable(base + "/x")) base = "/tmp";
  std::string pattern = base + "/vitrine-XXXXXX";
  return ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
}

// The end of its log, without times, for a user who requested a run and not a server.
std::string tail_of(int log) {
  constexpr off_t kTail = 2000;
  const off_t size = ::lseek(log, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kTail)), '\0');
  const ssize_t got = ::pread(log, text.data(), text.size(), std::max<off_t>(size - kTail, 0));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Error problem_in(const Response& response) {
  Error error{.code = Code::unavailable,
              .message = "the server answered " + std::to_string(response.status)};
  boost::system::error_code failed;
  const json::value parsed = json::parse(response.body, failed);
  if (failed || !parsed.is_object()) return error;
  const auto text = [&](const char* name) {
    const json::value* found = parsed.as_object().if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
  };
  if (!text("detail").empty()) error.message = text("detail");
  error.remedy = text("remedy");
  if (response.status == 401)
    error.remedy =
        "give --token or set VITRINE_TOKEN; it is in the file `token` of the server's data "
        "directory";
  if (response.status == 422 || response.status == 413 || response.status == 400)
    error.code = Code::invalid_argument;
  return error;
}

Result<ServerAccess> ServerAccess::find(const Target& target, Signals& signals) {
  ServerAccess access;
  access.server_.token = target.token.empty() ? variable("VITRINE_TOKEN") : target.token;
  const std::string named = target.url.empty() ? variable("VITRINE_URL") : target.url;
  if (named != "private") {
    Result<Url> url = parse_url(named.empty() ? "http://127.0.0.1:8000" : named);
    if (!url) return std::move(url.error());
    access.server_.url = std::move(*url);
    if (!named.empty() || is_vitrine(access.server_)) return access;
  }
  if (Status s = access.start_private(target, signals); !s) return std::move(s.error());
  return access;
}

Status ServerAccess::start_private(const Target& target, Signals& signals) {
  const std::string image = target.image.empty() ? default_image() : target.image;
  if (Status s = check_image(image); !s) return s;
  directory_ = temporary_directory();
  if (directory_.empty()) return Error::from_errno("making a temporary directory");
  const std::string log = directory_ + "/log";
  // Before the server's own files, so that the directory counts as its own.
  Fd lock(::open((directory_ + "/lock").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Fd errors(::open(log.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Result<FdPair> ready = make_pipe();
  if (!errors || !lock) return Error::from_errno("making a log");
  if (!ready) return std::move(ready.error());
  const std::string self = program_path();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) return Error::from_errno("starting a private server");
  if (pid_ == 0) {
    ::setpgid(0, 0);  // Ctrl-C is for us; we end it
    signals.restore();
    ::signal(SIGPIPE, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (::getppid() != parent) ::_exit(1);
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (::dup2(null, 0) < 0 || ::dup2(ready->second.get(), 1) < 0 || ::dup2(errors.get(), 2) < 0)
      ::_exit(1);
    ::execl(self.c_str(), self.c_str(), "serve", "--listen", "127.0.0.1:0", "--data",
            directory_.c_str(), "--image", image.c_str(), "--pool", "1", "--ephemeral", nullptr);
    ::_exit(127);
  }
  ready->second.reset();

  std::string line;
  const auto latest = Clock::now() + kStart;
  while (!line.ends_with('\n')) {
    pollfd watched[2] = {{ready->first.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(latest - Clock::now());
    const int count = ::poll(watched, 2, static_cast<int>(std::max(left, 0ms).count()));
    if (count < 0 && errno == EINTR) continue;
    if (watched[1].revents != 0) return Error{.code = Code::conflict, .message = "interrupted"};
    char block[512];
    const ssize_t got = count > 0 ? ::read(ready->first.get(), block, sizeof block) : 0;
    if (got <= 0)
      return Error{.code = Code::unavailable,
                   .message = "a private server could not be started\n" + tail_of(errors.get()),
                   .remedy = "`vitrine doctor` reports what this host lacks"};
    line.append(block, static_cast<std::size_t>(got));
  }
  line.pop_back();
  const std::size_t at = line.find("http://");
  Result<Url> url = parse_url(at == std::string::npos ? line : line.substr(at));
  if (!url) return std::move(url.error());
  server_ = {.url = std::move(*url), .token = {}};
  return ok();
}

ServerAccess::ServerAccess(ServerAccess&& other) noexcept
    : server_(std::move(other.server_)),
      pid_(std::exchange(other.pid_, -1)),
      directory_(std::exchange(other.directory_, {})) {}

ServerAccess::~ServerAccess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    const auto latest = Clock::now() + kStop;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (Clock::now() > latest) ::kill(pid_, SIGKILL);
      ::usleep(2000);
    }
  }
  if (!directory_.empty()) remove_tree(directory_);
}

}  // namespace vitrine::app
