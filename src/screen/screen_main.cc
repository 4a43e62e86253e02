// SPDX-License-Identifier: Apache-2.0
// vitrine-screen: manages the windows of one display, and serves the front's requests about it.
//
// It runs in the jail of the X server. $DISPLAY and $XAUTHORITY name the server; descriptor 3 is the
// front's socket (src/wire/screen.h). It exits when the X server exits.
//
// Any client of an X server may close another's connection. The work is therefore done by a child; its
// parent, which no X client can reach, starts the next child, with growing pauses. When no child can
// connect any more, the X server is gone, and the parent exits.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "screen/server.h"

namespace {

using namespace vitrine;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kFront = 3;
constexpr auto kFirstPause = 20ms;
constexpr auto kLongestPause = 5000ms;
constexpr auto kGoodLife = 10s;  // a child that lived so long resets the pause
constexpr int kNoServer = 2;     // exit status of a child that could not connect
constexpr int kMaxTries = 8;     // in a row, without a server

int work(screen::Server::Life life) {
  Result<screen::X> x = screen::X::connect();
  if (!x) {
    std::fprintf(stderr, "vitrine-screen: %s\n", x.error().describe().c_str());
    return kNoServer;
  }
  screen::Server server(std::move(*x), Fd(kFront), life);
  if (Status done = server.run(); !done) {
    std::fprintf(stderr, "vitrine-screen: %s\n", done.error().describe().c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  const pid_t self = ::getpid();
  auto pause = std::chrono::milliseconds(kFirstPause);
  int tries = 0;
  bool worked = false;
  for (auto life = screen::Server::Life::first; tries < kMaxTries;
       life = screen::Server::Life::again) {
    const auto begun = Clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
      // Whoever ends this process ends the work too.
      if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || ::getppid() != self) return 1;
      return work(life);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const bool connected = !WIFEXITED(status) || WEXITSTATUS(status) != kNoServer;
    tries = connected ? 0 : tries + 1;
    worked = worked || (connected && child > 0);
    if (Clock::now() - begun > kGoodLife) pause = kFirstPause;
    ::poll(nullptr, 0, static_cast<int>(pause.count()));
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
  }
  return worked ? 0 : 1;
}
