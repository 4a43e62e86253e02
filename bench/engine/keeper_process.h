// SPDX-License-Identifier: Apache-2.0
// A keeper of the benchmark's own, and a connection to it.
#pragma once

#include <string>
#include <vector>

#include "control/blocking.h"
#include "engine/process.h"

namespace vitrine::bench {

struct KeeperSetup {
  std::string program;
  std::string image;
  std::string directory;  // for the control socket; nothing else is in it
  std::string name;
  std::vector<std::string> options;
};

class KeeperProcess {
 public:
  // Returns when its pools are full.
  static Result<KeeperProcess> start(const KeeperSetup& setup);

  int pid() const { return process_.pid(); }
  const std::string& name() const { return setup_.name; }
  const std::string& directory() const { return setup_.directory; }
  control::BlockingClient& client() { return *client_; }

  // Waits until the pools hold what they should and nothing is being built.
  Status settle();

  Status stop();

 private:
  struct Pools {
    long bare = 0, loaded = 0, empty = 0;
    bool operator==(const Pools&) const = default;
  };
  Result<Pools> pools();

  KeeperSetup setup_;
  Process process_;
  std::optional<control::BlockingClient> client_;
  Pools full_;
};

}  // namespace vitrine::bench
