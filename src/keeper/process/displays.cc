// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/displays.h"

#include <sys/epoll.h>

#include <algorithm>
#include <csignal>

#include "base/packet.h"
#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kStartTime{10'000};
constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::uint32_t kMostDoublings = 6;
constexpr std::uint32_t kMaxFailures = 5;  // in a row

std::string to_text(Ending ending) {
  return (ending.signalled ? "signal " : "exit status ") + std::to_string(ending.code);
}

}  // namespace

Displays::Displays(Loop& loop, Reaper& reaper, Shells& shells)
    : loop_(loop), reaper_(reaper), shells_(shells) {
  shells_.on_display_wanted([this](Shell& shell) { start(shell); });
}

void Displays::open(Shell& shell, std::function<void(Status)> opened) {
  Display& display = shell.display;
  if (display.pid >= 0 && display.start == Display::Start::none) return opened(ok());
  if (!display.listener)
    return opened(Error{Code::unavailable, "the X server could not be started"});
  display.waiting.push_back(std::move(opened));
  if (display.start != Display::Start::none) return;
  loop_.unwatch(display.listener.get());
  loop_.cancel(display.timer);
  start(shell);
}

void Displays::start(Shell& shell) {
  if (shell.display.pid >= 0 || shell.display.start != Display::Start::none) return;
  shell.display.used = true;
  if (Status asked = ask_builder(shell); !asked) fail(shell, std::move(asked.error()));
}

Status Displays::ask_builder(Shell& shell) {
  Display& display = shell.display;
  Result<FdPair> channel = make_socketpair();
  if (!channel) return std::move(channel.error());
  StartDisplay request{.slot = shell.slot, .geometry = display.geometry, .cookie = display.cookie};
  request.fail_at = faults_ ? faults_() : 0;
  std::vector<int> fds{channel->second.get(), display.listener.get()};
  FdPair helper;
  if (shells_.has_screen_helper()) {
    Result<FdPair> made = make_socketpair();
    if (!made) return std::move(made.error());
    helper = std::move(*made);
    fds.push_back(helper.second.get());
    request.has_helper = true;
  }
  jail::CgroupEntrance entrance;
  if (shell.cgroup && shells_.delegated()) {
    Result<jail::CgroupEntrance> opened = shell.cgroup->open_entrance(jail::Cgroup::Member::init);
    if (!opened) return std::move(opened.error());
    entrance = std::move(*opened);
    request.has_cgroup = static_cast<bool>(entrance.into);
    if (entrance.into) fds.push_back(entrance.into.get());
    for (const Fd& join_fd : entrance.join_fds) fds.push_back(join_fd.get());
  }
  if (Status s = shells_.start_display(
          request, fds, [this, &shell](Result<int> pid) { cloned(shell, std::move(pid)); });
      !s)
    return s;
  display.start = Display::Start::cloning;
  display.channel = std::move(channel->first);
  display.helper = std::move(helper.first);
  return ok();
}

void Displays::cloned(Shell& shell, Result<int> pid) {
  Display& display = shell.display;
  display.start = Display::Start::building;
  if (pid) display.pid = *pid;
  if (display.after_clone) {  // the shell is being taken down, and what we made with it
    auto go_on = std::move(display.after_clone);
    return go_on();
  }
  if (!pid) return fail(shell, std::move(pid.error()));
  reaper_.watch(display.pid, [this, &shell](Ending ending) { server_ended(shell, ending); });
  display.timer = loop_.after(kStartTime, [this, &shell] {
    fail(shell, Error{Code::timed_out, "starting the X server took too long"});
  });
  if (shell.cgroup && !shells_.delegated())
    if (Status s = shell.cgroup->join_init(display.pid); !s)
      return fail(shell, std::move(s.error()).during("its cgroup"));
  Status watched = loop_.watch(display.channel.get(), EPOLLIN,
                               [this, &shell](std::uint32_t) { read_channel(shell); });
  if (!watched) return fail(shell, std::move(watched.error()));
  if (Status s = send_packet(display.channel.get(), "go", {}, Wait::dont); !s)
    fail(shell, std::move(s.error()));
}

void Displays::read_channel(Shell& shell) {
  Display& display = shell.display;
  Result<Packet> packet = receive_packet(display.channel.get(), 4096, 1, Wait::dont);
  if (!packet) {
    if (packet.error().code == Code::timed_out) return;
    // exec closed the channel: the server runs.
    if (packet.error().code == Code::unavailable && display.framebuffer) return running(shell);
    return fail(shell, std::move(packet.error()));
  }
  if (!packet->bytes.starts_with('\0'))
    return fail(shell, Error::unpack(std::string_view(packet->bytes).substr(1)));
  if (packet->fds.size() != 1)
    return fail(shell, Error{Code::internal, "the display has no framebuffer"});
  display.framebuffer = std::move(packet->fds[0]);
}

void Displays::running(Shell& shell) {
  Display& display = shell.display;
  loop_.cancel(display.timer);
  loop_.unwatch(display.channel.get());
  display.channel.reset();
  display.start = Display::Start::none;
  display.failures = 0;
  ++display.generation;
  if (display.on_change) display.on_change(Display::Change::started, "");
  for (auto& waiting : std::exchange(display.waiting, {})) waiting(ok());
}

void Displays::server_ended(Shell& shell, Ending ending) {
  Display& display = shell.display;
  display.pid = -1;
  if (display.start != Display::Start::none) {
    Error why{Code::unavailable, "the X server ended: " + to_text(ending)};
    // Its last word may still be on the way.
    while (Result<Packet> packet = receive_packet(display.channel.get(), 4096, 1, Wait::dont))
      if (!packet->bytes.starts_with('\0'))
        why = Error::unpack(std::string_view(packet->bytes).substr(1));
    return fail(shell, std::move(why));
  }
  display.framebuffer.reset();
  display.helper.reset();
  ++display.deaths;
  log_info("an X server ended: " + to_text(ending));
  if (display.on_change) display.on_change(Display::Change::died, to_text(ending));
  wait_for_client(shell, display.deaths);
}

void Displays::fail(Shell& shell, Error error) {
  Display& display = shell.display;
  loop_.cancel(display.timer);
  if (display.channel) loop_.unwatch(display.channel.get());
  display.channel.reset();
  display.framebuffer.reset();
  display.helper.reset();
  display.start = Display::Start::none;
  if (display.pid >= 0) {
    // What is left of it must be gone before the next one is made.
    display.start = Display::Start::building;
    reaper_.signal(display.pid, SIGKILL);
    return reaper_.watch(display.pid, [this, &shell, error](Ending) {
      shell.display.pid = -1;
      fail(shell, error);
    });
  }
  log_warning(Error(error).during("starting an X server").describe());
  for (auto& waiting : std::exchange(display.waiting, {}))
    waiting(Error(error).as_ours().during("starting an X server"));
  if (++display.failures >= kMaxFailures) return display.listener.reset();
  wait_for_client(shell, display.failures);
}

void Displays::wait_for_client(Shell& shell, std::uint32_t misfortunes) {
  if (!shell.display.listener) return;
  const auto pause = kFirstPause * (1u << std::min(misfortunes, kMostDoublings));
  shell.display.timer = loop_.after(pause, [this, &shell] {
    shell.display.timer = 0;
    (void)shells_.watch_display(shell);
  });
}

}  // namespace vitrine::keeper
