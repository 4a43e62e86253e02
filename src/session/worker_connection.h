// SPDX-License-Identifier: Apache-2.0
// What ties a session to its worker: the socket, both pipes, meters and the log of its proxy. All of it is
// taken over, and closed, together.
//
// Ownership: the session's, and that of the coroutines that read from it. Threading: the front's one thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "session/egress_log.h"
#include "session/event.h"
#include "session/meters.h"
#include "session/output_pipe.h"
#include "session/session.h"
#include "session/worker_fds.h"

namespace vitrine::session {

struct Session::Connection {
  Connection(asio::any_io_executor executor, WorkerFds fds, Origin origin)
      : socket(std::make_shared<WorkerSocket>(executor, std::move(fds.socket), origin)),
        out(executor, std::move(fds.out)),
        err(executor, std::move(fds.err)),
        meters(std::move(fds.cpu), std::move(fds.peak)) {
    if (fds.network) network.emplace(executor, std::move(fds.network), std::move(fds.counters));
  }

  // Nothing that comes is taken any more.
  bool over() const { return socket->stopped(); }
  void close() {
    socket->close();
    out.close();
    err.close();
    if (network) network->close();
  }
  OutputPipe& pipe(Stream stream) { return stream == Stream::out ? out : err; }

  std::shared_ptr<WorkerSocket> socket;
  OutputPipe out;
  OutputPipe err;
  Meters meters;
  std::optional<EgressLog> network;
};

}  // namespace vitrine::session
