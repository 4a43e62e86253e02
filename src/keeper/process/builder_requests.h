// SPDX-License-Identifier: Apache-2.0
// What the builder is asked for beside shells: zygotes, displays, packages in a shell, sockets in one.
//
// It is asked for a few things at a time, shells among them; further requests wait in order, and are sent
// to the next builder if it dies. Each callback is called once, later; the shell may be gone by then.
//
// Threading: the keeper's loop.
// Failure:   `unavailable` if the builder dies meanwhile, or does not start.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "keeper/process/builder.h"
#include "keeper/process/builder_messages.h"
#include "keeper/process/request_window.h"
#include "keeper/process/shells.h"

namespace vitrine::keeper {

class BuilderRequests {
 public:
  // `builder` has no control socket while there is none.
  BuilderRequests(Loop& loop, const Builder& builder);

  // Requests that are answered by one Cloned each enter it and leave it.
  RequestWindow& window() { return window_; }
  const RequestWindow& window() const { return window_; }
  // Names a request in its answer; of shells, too.
  std::uint64_t next_id() { return ++last_id_; }

  void listen(const Shell& shell, std::uint16_t port, std::function<void(Result<Fd>)> listening);
  void mount_layers(const Shell& shell, const LayerList& layers, const std::string& environment,
                    std::function<void(Status)> done);
  Status start_zygote(const StartZygote& request, int socket, int zygote_filter, int worker_filter,
                      std::function<void(Result<int>)> cloned);
  Status start_display(const StartDisplay& request, const std::vector<int>& fds,
                       std::function<void(Result<int>)> cloned);

  // False if the answer is not to one of these.
  bool take_answer(Cloned& cloned);
  // All that it was asked for fails.
  void builder_died();

 private:
  // Sends something that the builder answers with one Cloned, now or in its turn. `failed`, later, if it
  // cannot be sent.
  void ask(std::function<Status()> send, std::function<void(Error)> failed);

  Loop& loop_;
  const Builder& builder_;
  RequestWindow window_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, std::function<void(Result<int>)>> processes_;
  std::unordered_map<std::uint64_t, std::function<void(Result<Fd>)>> listeners_;
  std::unordered_map<std::uint64_t, std::function<void(Status)>> layers_;
};

}  // namespace vitrine::keeper
