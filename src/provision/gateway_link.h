// SPDX-License-Identifier: Apache-2.0
// The front's end of vitrine-gateway's socket, and the tickets that installations use there.
//
// No session sees an index's credentials: it gets a URL of the gateway with a ticket in it. The front
// listens and hands the socket to the gateway, so the port stays the same when the gateway dies: while
// somebody holds a ticket it is started again and gets all of them, and connections wait in the socket's
// backlog meanwhile.
//
// Ownership: one per front; the keeper link must outlive it. Tickets may outlive it.
// Threading: the front's one thread.
// Trust:     the gateway reads hostile bytes: all that is taken from it is whether it started.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/keeper_link.h"
#include "base/result.h"
#include "model/index_url.h"

namespace vitrine::provision {

class GatewayLink {
 public:
  // `certificates`: PEM that the index's certificate is verified with; "" = the host's.
  GatewayLink(boost::asio::any_io_executor executor, backend::KeeperLink& keeper,
              std::string certificates);
  ~GatewayLink();
  GatewayLink(const GatewayLink&) = delete;
  GatewayLink& operator=(const GatewayLink&) = delete;

  std::uint16_t port() const;  // 0 before the first admit()

  class Ticket;
  // A ticket for an index with credentials; returns once a gateway serves. `unavailable`, `timed_out` or
  // `unsupported` if none can be started, `invalid_argument` for certificates that it cannot read.
  boost::asio::awaitable<Result<std::shared_ptr<const Ticket>>> admit(IndexUrl index);

 private:
  struct Shared;
  static boost::asio::awaitable<Status> open(std::shared_ptr<Shared> shared);
  static boost::asio::awaitable<Status> start(std::shared_ptr<Shared> shared);
  static boost::asio::awaitable<void> keep_running(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared_;
};

// Valid until it is destroyed.
class GatewayLink::Ticket {
 public:
  Ticket(std::shared_ptr<Shared> shared, std::string key, std::string url)
      : shared_(std::move(shared)), key_(std::move(key)), url_(std::move(url)) {}
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  const std::string& url() const { return url_; }  // of the index, as an installation is given it

 private:
  std::shared_ptr<Shared> shared_;
  std::string key_;
  std::string url_;
};

}  // namespace vitrine::provision
