// SPDX-License-Identifier: Apache-2.0
// `vitrine run`: one jailed run in the terminal.
#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>

#include "app/commands.h"
#include "app/events.h"
#include "app/server_access.h"
#include "base/base64.h"
#include "base/fd.h"
#include "wire/messages.h"

namespace vitrine::app {

namespace json = boost::json;

namespace {

constexpr std::size_t kMaxInput = 64u << 20;  // the server has its own, smaller limits

Result<std::string> read_stdin() {
  std::string text;
  char block[65536];
  while (text.size() <= kMaxInput) {
    const ssize_t got = ::read(STDIN_FILENO, block, sizeof block);
    if (got < 0) return Error::from_errno("reading standard input");
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
  return Error{.code = Code::over_limit, .message = "it is too long"};
}

Result<std::string> read_source(const char* what, const std::string& file) {
  Result<std::string> text =
      file == "-" ? read_stdin() : read_file(AT_FDCWD, file.c_str(), kMaxInput);
  if (text && !wire::is_utf8(*text))
    return Error{.code = Code::invalid_argument,
                 .message = std::string(what) + " '" + file + "' is not UTF-8",
                 .remedy = "save it as UTF-8; send other bytes as a file of a session"};
  if (text) return text;
  return Error{
      .code = Code::invalid_argument,
      .message = std::string(what) + " '" + file + "' cannot be read: " + text.error().message,
      .remedy = "name a readable file, or - for standard input"};
}

Result<std::string> request_body(const RunOptions& options) {
  json::object body;
  if (Status s = add_session_fields(options.target, body); !s) return std::move(s.error());
  if (options.code) {
    body["code"] = *options.code;
  } else {
    Result<std::string> code = read_source("file", options.file);
    if (!code) return std::move(code.error());
    body["code"] = *code;
  }
  if (options.stdin_file) {
    Result<std::string> text = read_source("stdin", *options.stdin_file);
    if (!text) return std::move(text.error());
    body["stdin"] = *text;
  }
  if (!options.screenshot.empty()) body["capture_screenshot"] = true;
  return json::serialize(body);
}

// The screenshot of an execution; its notes say why there is none.
Status save_picture(const json::object& execution, const std::string& file) {
  const json::value* found = execution.if_contains("screenshot");
  if (found == nullptr || !found->is_string())
    return Error{.code = Code::unavailable, .message = "there is no screenshot"};
  const std::string bytes = from_base64(std::string_view(found->as_string()));
  const Fd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!out || ::write(out.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return Error::from_errno("writing '" + file + "'");
  return ok();
}

int failed_by(const Error& error, int signal) {
  if (error.code == Code::conflict) {
    std::fputs("vitrine: interrupted\n", stderr);
    return 128 + signal;
  }
  return refuse(error, error.code == Code::invalid_argument ? kUsage : kOurFailure);
}

}  // namespace

int run(const RunOptions& options) {
  Result<std::string> body = request_body(options);
  if (!body) return refuse(body.error(), kUsage);
  Signals signals;             // from here on: before, Ctrl-C just ends us
  ::signal(SIGPIPE, SIG_IGN);  // a private server is to be ended in any case
  Result<ServerAccess> access = ServerAccess::find(options.target, signals);
  if (!access) {
    const int signal = signals.take();
    return failed_by(access.error(), signal == 0 ? SIGINT : signal);
  }

  EventPrinter printer(options.json ? Show::nothing : Show::as_they_come);
  int signal = 0;
  // A client that leaves interrupts its execution: nothing else is to be told to the server.
  Result<Response> response =
      exchange(access->server(), {.method = "POST", .target = "/v1/run", .body = std::move(*body)},
               {.on_line =
                    [&](std::string_view line) {
                      printer.line(line);
                      return printer.unheard() ? Wake::stop : Wake::keep_on;
                    },
                .wake_fd = signals.fd(),
                .on_wake =
                    [&] {
                      signal = signals.take();
                      return signal == 0 ? Wake::keep_on : Wake::stop;
                    }});
  if (printer.unheard()) return 128 + SIGPIPE;
  if (!response) return failed_by(response.error(), signal);
  if (response->status != 200) return failed_by(problem_in(*response), 0);
  if (!printer.problem().empty())
    return failed_by(problem_in({.status = 422, .type = {}, .body = printer.problem()}), 0);
  const std::optional<int> exit_code = printer.exit_code();
  if (!exit_code)
    return refuse(Error{.code = Code::unavailable,
                        .message = "the server ended before the execution did",
                        .remedy = "run it again; the server's log has the reason"},
                  kOurFailure);
  if (options.json) std::printf("%s\n", json::serialize(printer.execution()).c_str());
  else printer.explain();
  std::fflush(stdout);
  if (!options.screenshot.empty())
    if (Status saved = save_picture(printer.execution(), options.screenshot); !saved)
      return refuse(saved.error(), kOurFailure);
  return *exit_code;
}

}  // namespace vitrine::app
