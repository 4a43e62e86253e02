// SPDX-License-Identifier: Apache-2.0
// `vitrine repl`: one session, statement by statement; it is deleted at the end.
#include <unistd.h>

#include <boost/json.hpp>
#include <clocale>
#include <cstdio>
#include <filesystem>

#include "app/commands.h"
#include "app/events.h"
#include "app/line_reader.h"
#include "app/paths.h"
#include "app/repl_input.h"
#include "app/server_access.h"
#include "app/version.h"

namespace vitrine::app {

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

// A session on the server; the destructor deletes it.
class RemoteSession {
 public:
  RemoteSession(const Server& server, std::string id) : server_(server), id_(std::move(id)) {}
  ~RemoteSession() {
    (void)exchange(server_, {.method = "DELETE", .target = path(""), .timeout = 10s});
  }
  RemoteSession(const RemoteSession&) = delete;
  RemoteSession& operator=(const RemoteSession&) = delete;

  Result<Response> execute(const std::string& code, EventPrinter& printer, Signals& signals,
                           int& ended_by) const {
    return exchange(server_,
                    {.method = "POST",
                     .target = path("/exec"),
                     .body = json::serialize(json::object{{"code", code}})},
                    {.on_line =
                         [&](std::string_view line) {
                           printer.line(line);
                           return printer.unheard() ? Wake::stop : Wake::keep_on;
                         },
                     .wake_fd = signals.fd(),
                     .on_wake =
                         [&] {
                           const int signal = signals.take();
                           if (signal == 0) return Wake::keep_on;
                           if (signal != SIGINT) return ended_by = signal, Wake::stop;
                           interrupt();
                           return Wake::keep_on;
                         }});
  }

  Status reset() const {
    Result<Response> done =
        exchange(server_, {.method = "POST", .target = path("/reset"), .timeout = 30s});
    if (!done) return std::move(done.error());
    return done->status == 200 ? ok() : Status(problem_in(*done));
  }

 private:
  void interrupt() const {
    (void)exchange(server_, {.method = "POST", .target = path("/interrupt"), .timeout = 5s});
  }
  std::string path(const char* rest) const { return "/v1/sessions/" + id_ + rest; }

  const Server& server_;
  std::string id_;
};

Result<std::string> create(const Server& server, const Target& target) {
  json::object body{{"name", "vitrine repl"}};
  if (Status s = add_session_fields(target, body); !s) return std::move(s.error());
  Result<Response> made = exchange(
      server,
      {.method = "POST", .target = "/v1/sessions", .body = json::serialize(body), .timeout = 30s});
  if (!made) return std::move(made.error());
  if (made->status != 201) return problem_in(*made);
  boost::system::error_code failed;
  const json::value session = json::parse(made->body, failed);
  const json::value* id =
      !failed && session.is_object() ? session.as_object().if_contains("id") : nullptr;
  if (id == nullptr || !id->is_string())
    return Error{.code = Code::unavailable, .message = "the server's answer cannot be parsed"};
  return std::string(id->as_string());
}

// Statement by statement, until the end of input, exit() or a signal. Returns the exit code.
int converse(const RemoteSession& session, LineReader& lines, Signals& signals) {
  std::string code;
  for (;;) {
    const Line line = lines.read(code.empty() ? ">>> " : "... ");
    if (line.kind == Line::Kind::interrupted) {
      std::fputs("\nKeyboardInterrupt\n", stderr);
      code.clear();
      continue;
    }
    const bool last = line.kind == Line::Kind::end;
    code += line.text;
    if (!last && judge(code) == Typed::wants_more) continue;
    const bool blank = code.find_first_not_of(" \t\r\n") == std::string::npos;
    if (blank && last) return 0;
    if (blank) {
      code.clear();
      continue;
    }
    lines.remember(code);
    EventPrinter printer(Show::as_they_come);
    int ended_by = 0;
    Result<Response> done = session.execute(code, printer, signals, ended_by);
    code.clear();
    if (ended_by != 0) return 128 + ended_by;
    if (printer.unheard()) return 128 + SIGPIPE;
    if (!done) return refuse(done.error(), kOurFailure);
    if (done->status == 410 || (done->status == 200 && !printer.state_kept())) {
      printer.explain();
      if (Status s = session.reset(); !s) return refuse(s.error(), kOurFailure);
      std::fputs("vitrine: variables and files are lost; this is a new session\n", stderr);
    } else if (done->status != 200) {
      refuse(problem_in(*done), 0);
    } else {
      printer.explain();
      if (printer.exited()) return printer.exit_code().value_or(0);
    }
    if (last) return 0;
  }
}

}  // namespace

int repl(const Target& target) {
  std::setlocale(LC_CTYPE, "");
  Signals signals;
  ::signal(SIGPIPE, SIG_IGN);  // the session is to be deleted in any case
  Result<ServerAccess> access = ServerAccess::find(target, signals);
  if (!access) {
    if (access.error().code == Code::conflict) return 130;
    return refuse(access.error(),
                  access.error().code == Code::invalid_argument ? kUsage : kOurFailure);
  }
  Result<std::string> id = create(access->server(), target);
  if (!id)
    return refuse(id.error(), id.error().code == Code::invalid_argument ? kUsage : kOurFailure);
  const RemoteSession session(access->server(), std::move(*id));
  const std::string state = state_home() + "/vitrine-repl";
  std::error_code ignored;
  std::filesystem::create_directories(state, ignored);
  std::unique_ptr<LineReader> lines = make_line_reader(signals, state + "/history");
  if (::isatty(STDIN_FILENO) == 1)
    std::fprintf(stderr,
                 "Vitrine %s: a sealed Python session. Ctrl-C interrupts, Ctrl-D or exit() ends.\n",
                 kVersion);
  const int exit_code = converse(session, *lines, signals);
  if (::isatty(STDIN_FILENO) == 1) std::fputs("\n", stderr);
  return exit_code;
}

}  // namespace vitrine::app
