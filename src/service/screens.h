// SPDX-License-Identifier: Apache-2.0
// A session's screen: its windows, input, and recordings of it. Screenshots are in
// service/screenshots.h.
//
// Ownership: one per front. Threading: the front's one thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/client.h"
#include "service/session_ref.h"
#include "session/recordings.h"
#include "session/registry.h"
#include "wire/screen.h"

namespace vitrine::service {

// Windows, points and input events as the screen's helper has them.
namespace screen = wire::screen;
// Formats of recordings.
namespace encoder = wire::encoder;

// Where the pointer is after these events, if they say.
std::optional<screen::Point> pointer_after(const screen::Input& input);
// How long they may take at most.
std::chrono::milliseconds time_for(const screen::Input& input);
// Where the session's pointer is, as far as input has moved it.
screen::Point pointer_of(const SessionRef& session);

struct WindowList {
  bool running = false;  // the session has an X server
  std::vector<screen::Window> windows;
  bool more = false;
  std::vector<std::string> notes;
};

class Screens {
 public:
  Screens(session::Registry& registry, session::Recordings& recordings)
      : registry_(registry), recordings_(recordings) {}

  Task<Result<WindowList>> windows(SessionRef session);
  // Delivers all events or none; what is to be known afterwards. `session_dead`, `no_display`,
  // `invalid_field` naming the event.
  Task<Result<std::vector<std::string>>> input(SessionRef session, screen::Input events);

  // `session_dead`, `too_many_recordings`, `no_capacity`, `disk_full`.
  Task<Result<std::shared_ptr<session::Recording>>> record(SessionRef session,
                                                           display::RecordingOptions wish,
                                                           Identity asks);
  session::Recordings& recordings() { return recordings_; }

 private:
  session::Registry& registry_;
  session::Recordings& recordings_;
};

}  // namespace vitrine::service
