// SPDX-License-Identifier: Apache-2.0
// A `vitrine serve` of the benchmark's own: private data directory, free loopback port.
#pragma once

#include <string>
#include <vector>

#include "engine/host.h"
#include "engine/process.h"
#include "server/client.h"

namespace vitrine::bench {

struct ServerSetup {
  std::string program;  // vitrine
  std::string image;
  std::string directory;  // its data; made, and the log beside it
  std::string name;
  std::vector<std::string> options = {};
};

struct Held {
  Holdings all;
  long recycled = 0;  // used shells that it keeps for one-shots, on purpose
};

class ServerProcess {
 public:
  // Returns when its pools are full.
  static Result<ServerProcess> start(const ServerSetup& setup);

  int keeper() const { return process_.pid(); }
  std::uint16_t port() const { return port_; }
  // Of the front that answers now.
  Result<int> front();
  // Waits until the pools hold what they should.
  Status settle();
  // What keeper and front hold, once the kernel has freed what it frees late.
  Result<Held> holdings();
  Status stop();

 private:
  struct Pools {
    long bare = 0, loaded = 0, empty = 0;
  };
  Result<Answer> info();
  Result<Pools> pools();
  Result<long> recycled();

  ServerSetup setup_;
  Process process_;
  std::uint16_t port_ = 0;
  std::optional<Client> client_;
  Pools full_;
};

}  // namespace vitrine::bench
