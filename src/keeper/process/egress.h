// SPDX-License-Identifier: Apache-2.0
// The way out of sessions that asked for a network: one proxy process each, outside the jail, that
// listens on a socket inside the session's network namespace. Sessions without one cost nothing.
//
// Ownership: a Proxy belongs to the session; it must come back through close(). The process is a child
//            of the keeper and dies with it. One that dies by itself is started again on the same
//            socket, kMaxStarts times; then the socket is closed and connections are refused.
// Trust:     the proxy reads hostile bytes: a user id of its own (per session, as root), no
//            privilege, in the session's cgroup, so that the session pays for what it makes it do.
// Threading: the keeper's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keeper/process/shells.h"
#include "model/network.h"

namespace vitrine::keeper {

struct EgressConfig {
  bool on = true;
  std::string program;                   // vitrine-egress
  std::vector<std::string> private_;     // ranges that the operator opened
  std::vector<std::string> index;        // and those of the package index, for installations only
  std::optional<uid_t> first_user = {};  // of the proxy of slot 0; none = the keeper's own
};

// Descriptors a proxy finds.
inline constexpr int kProxyListener = 3;
inline constexpr int kProxyLine = 4;
inline constexpr int kProxySetup = 5;
inline constexpr int kProxyCounters = 6;

struct Proxy {
  Network network;
  Shell* shell = nullptr;
  Fd listener;
  Fd line;      // the front's end; the front gets a copy
  Fd far_end;   // the proxy's, for the next one
  Fd counters;  // see wire/egress.h
  int pid = -1;
  std::uint32_t starts = 0;
};

class Egress {
 public:
  using Opened = std::function<void(Result<std::unique_ptr<Proxy>>)>;

  Egress(Loop& loop, Reaper& reaper, Shells& shells, EgressConfig config)
      : loop_(loop), reaper_(reaper), shells_(shells), config_(std::move(config)) {}

  // Opens the program. `not_found` if it is not there.
  Status prepare();

  // `unsupported` where the operator has switched it off, `invalid_argument` for a rule that is none.
  Status check(const Network& network) const;
  // `opened` is called once, later. The shell must stay until close() is done.
  void open(Shell& shell, const Network& network, Opened opened);
  // `gone` when the process is reaped.
  void close(std::unique_ptr<Proxy> proxy, std::function<void()> gone);

  bool on() const { return config_.on; }
  std::size_t alive() const { return alive_; }
  const EgressConfig& config() const { return config_; }

 private:
  Status spawn(Proxy& proxy);
  void died(Proxy& proxy);

  Loop& loop_;
  Reaper& reaper_;
  Shells& shells_;
  EgressConfig config_;
  Fd program_;
  std::size_t alive_ = 0;
};

}  // namespace vitrine::keeper
