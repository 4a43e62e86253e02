// SPDX-License-Identifier: Apache-2.0
// vitrine-screen: manages the windows of one display, and follows the front's requests about it.
//
// Lives in the jail of the X server. $DISPLAY and $XAUTHORITY name the server; descriptor 3 is the
// front's socket (src/wire/screen.h). Ends when the X server ends.
#include <csignal>
#include <cstdio>

#include "screen/server.h"

int main() {
  using namespace vitrine;
  constexpr int kFront = 3;
  std::signal(SIGPIPE, SIG_IGN);
  Result<screen::X> x = screen::X::connect();
  if (!x) {
    std::fprintf(stderr, "vitrine-screen: %s\n", x.error().describe().c_str());
    return 1;
  }
  screen::Server server(std::move(*x), Fd(kFront));
  if (Status done = server.run(); !done) {
    std::fprintf(stderr, "vitrine-screen: %s\n", done.error().describe().c_str());
    return 1;
  }
  return 0;
}
