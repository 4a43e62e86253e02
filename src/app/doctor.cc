// SPDX-License-Identifier: Apache-2.0
// `vitrine doctor`: asks the keeper, which may try what this program may not, and prints a table.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>

#include "app/commands.h"
#include "app/paths.h"
#include "base/fd.h"

namespace vitrine::app {

namespace json = boost::json;

namespace {

struct Told {
  std::string text;
  int exit_code = kOurFailure;
};

Result<Told> ask_keeper(const std::string& image) {
  Result<FdPair> pipe = make_pipe();
  if (!pipe) return std::move(pipe.error());
  const std::string keeper = companion("vitrine-keeper");
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno("starting the keeper");
  if (child == 0) {
    if (::dup2(pipe->second.get(), STDOUT_FILENO) < 0) ::_exit(127);
    ::execl(keeper.c_str(), keeper.c_str(), "--doctor", "--image", image.c_str(), nullptr);
    ::_exit(127);
  }
  pipe->second.reset();
  Told told;
  char block[4096];
  for (ssize_t got; (got = ::read(pipe->first.get(), block, sizeof block)) > 0;)
    told.text.append(block, static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
    return Error{.code = Code::unavailable,
                 .message = "vitrine-keeper could not be run",
                 .remedy = "it must be installed beside vitrine: ./dev build"};
  told.exit_code = WEXITSTATUS(status);
  return told;
}

std::string text_at(const json::object& object, const char* name) {
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

}  // namespace

int doctor(const std::string& image, bool as_json) {
  Result<Told> told = ask_keeper(image.empty() ? default_image() : image);
  if (!told) return refuse(told.error(), kOurFailure);
  if (as_json) {
    std::fputs(told->text.c_str(), stdout);
    return told->exit_code;
  }
  boost::system::error_code failed;
  const json::value parsed = json::parse(told->text, failed);
  const json::value* checks =
      !failed && parsed.is_object() ? parsed.as_object().if_contains("checks") : nullptr;
  if (checks == nullptr || !checks->is_array())
    return refuse(Error{.code = Code::internal, .message = "the keeper's answer cannot be parsed"},
                  kOurFailure);
  for (const json::value& value : checks->as_array()) {
    if (!value.is_object()) continue;
    const json::object& check = value.as_object();
    std::printf("%-8s %-20s %s\n", text_at(check, "state").c_str(), text_at(check, "name").c_str(),
                text_at(check, "detail").c_str());
    if (const std::string remedy = text_at(check, "remedy"); !remedy.empty())
      std::printf("%-8s %-20s fix: %s\n", "", "", remedy.c_str());
  }
  std::puts(told->exit_code == 0 ? "\nA full jail is possible here."
                                 : "\nNo full jail is possible here: see what is missing above.");
  const std::string limits = text_at(parsed.as_object(), "limits_level");
  std::printf("Limits of sessions: %s.\n", limits == "enforced" ? "enforced" : "best effort");
  return told->exit_code;
}

}  // namespace vitrine::app
