// SPDX-License-Identifier: Apache-2.0
// The keeper as its client sees it: requests out, answers and events in.
//
// Nothing here waits, except connect(): watch fd() for reading and call receive() until it has
// nothing. A caller with time to wait uses control/blocking.h.
//
// Ownership: one connection; sessions it created belong to it until somebody else attaches.
// Threading: one thread (or strand) at a time.
// Trust:     the keeper is believed, but what it sends is still decoded with care.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "wire/control.h"

namespace vitrine::bench::control {

// What comes with wire::Opened: the session is ours to talk to.
struct Handover {
  std::uint64_t session = 0;
  Source source = Source::warm;
  Fd socket;
  Fd out;
  Fd err;
};

// The answer to the request of this number. `opened` for Create, Reset and Attach; all other
// descriptors are in `fds`.
struct Answer {
  std::uint32_t number = 0;
  wire::Reply reply;
  std::optional<Handover> opened = {};
  std::vector<Fd> fds = {};
};

using FromKeeper = std::variant<Answer, wire::Event>;

class ControlClient {
 public:
  // `unavailable` with a remedy when no keeper listens there.
  static Result<ControlClient> connect(const std::string& path);
  explicit ControlClient(Fd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  // The number that the answer will have. `over_limit` when the keeper does not read: try again
  // when fd() is writable.
  Result<std::uint32_t> send(const wire::Request& request);
  // The same for a request that wants no answer.
  Status post(const wire::Request& request);

  // The next packet; nullopt when there is none yet. `unavailable` once the keeper is gone;
  // `invalid_argument` for nonsense, after which the connection is of no use.
  Result<std::optional<FromKeeper>> receive();

 private:
  Fd socket_;
  std::uint32_t last_number_ = 0;
};

}  // namespace vitrine::bench::control
