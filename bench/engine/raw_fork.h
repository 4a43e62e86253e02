// SPDX-License-Identifier: Apache-2.0
// Drives the raw fork server: see raw_fork_module.cc for what it is and is not.
#pragma once

#include <cstdint>
#include <string>

#include "engine/process.h"
#include "engine/raw_fork_wire.h"

namespace vitrine::bench {

class RawFork {
 public:
  // `variant` is "bare" or "loaded", as the zygote's.
  static Result<RawFork> start(const ImageRoot& root, const std::string& variant);

  int pid() const { return process_.pid(); }
  Status fork(std::uint32_t id, const std::string& code);
  // Waits for the next reply.
  Result<RawReply> receive();

 private:
  Process process_;
  Fd socket_;
};

}  // namespace vitrine::bench
