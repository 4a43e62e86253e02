// SPDX-License-Identifier: Apache-2.0
// The limit of HTTP: the smallest server with the front's own libraries (Asio, Beast, one thread,
// one coroutine per connection) that reads a whole request and answers a constant.
#pragma once

#include <cstdint>

#include "engine/process.h"

namespace vitrine::bench {

// Serves on the listening socket `listener` with bodies of `size` bytes; does not return.
[[noreturn]] void serve_null(int listener, std::size_t size);

// The same as a process of its own: this program, started again.
class NullServer {
 public:
  static Result<NullServer> start(std::size_t size);
  std::uint16_t port() const { return port_; }

 private:
  Process process_;
  std::uint16_t port_ = 0;
};

}  // namespace vitrine::bench
