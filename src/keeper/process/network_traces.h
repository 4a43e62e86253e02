// SPDX-License-Identifier: Apache-2.0
// Whether code has left traces in a network namespace: what outlives its sockets and could be read by the
// next one in it. Counters of packets that found no way, and labels of IPv6 flows, pass no device.
//
// The kernel tells it in five files. Opening and parsing them costs more than what it prints; so they stay
// open with the namespace, and are compared with what was found to be clean before. Only what differs is
// parsed.
//
// Threading: the keeper's loop.
// Trust:     the text is the kernel's. What cannot be read counts as a trace.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fd.h"

namespace vitrine::keeper {

// `dev` is /proc/PID/net/dev: the loopback device has carried something.
bool used_loopback(std::string_view dev);
// `counters` is a file like /proc/net/snmp: every counter in it is zero.
bool counts_nothing(std::string_view counters);
// `labels` is /proc/PID/net/ip6_flowlabel: there is a line below its head.
bool has_flow_labels(std::string_view labels);

// Of one namespace, open for reading; an empty one is a file that this kernel does not have.
// They hold the namespace: close them before it is to go.
using NetworkFiles = std::array<Fd, 5>;
Result<NetworkFiles> open_network_files(int pid);

class NetworkTraces {
 public:
  NetworkTraces();
  bool left_in(const NetworkFiles& files);

 private:
  std::array<std::string, std::tuple_size_v<NetworkFiles>> clean_;  // the last that left none
  std::vector<char> space_;
};

}  // namespace vitrine::keeper
