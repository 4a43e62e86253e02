// SPDX-License-Identifier: Apache-2.0
// Starts a session's X server when something connects to its display, and another after it died.
//
// A shell is built with a listening socket and no server. The keeper waits for the first connection,
// has the builder start a server that accepts it, and keeps the socket: when the server dies, whoever
// connects next starts another one. A session that never opens a window pays for a socket only.
//
// Ownership: what there is of a display lies in its Shell, whose end is the display's.
// Threading: the keeper's loop.
// Failure:   a server that cannot be started is tried again at the next connection, more and more
//            slowly; after kMaxFailures in a row connections are refused.
#pragma once

#include <functional>

#include "keeper/process/shells.h"

namespace vitrine::keeper {

class Displays {
 public:
  Displays(Loop& loop, Reaper& reaper, Shells& shells);

  void inject_faults(Faults faults) { faults_ = std::move(faults); }

  // `opened` is called once, now or later: a server runs and its framebuffer is there.
  void open(Shell& shell, std::function<void(Status)> opened);

 private:
  void start(Shell& shell);
  Status ask_builder(Shell& shell);
  void cloned(Shell& shell, Result<int> pid);
  void read_channel(Shell& shell);
  void running(Shell& shell);
  void server_ended(Shell& shell, Ending ending);
  void fail(Shell& shell, Error error);
  void wait_for_client(Shell& shell, std::uint32_t misfortunes);

  Loop& loop_;
  Reaper& reaper_;
  Shells& shells_;
  Faults faults_;
};

}  // namespace vitrine::keeper
