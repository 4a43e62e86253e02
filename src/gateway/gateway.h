// SPDX-License-Identifier: Apache-2.0
// The way of installations to a package index that requires credentials. An installation sends plain
// HTTP to the gateway, with a ticket; the gateway adds the credentials, speaks TLS to the index and
// verifies its certificate.
//
// A ticket is valid for one index, from Admit to Release (src/wire/gateway.h). Only GET and HEAD pass,
// only to the index's own host and port, and only a few headers in either direction. Where an answer
// names the index itself, it is rewritten to lead back here. Where it names another host, nothing is
// followed: the installation goes there by itself, through its own proxy, without the credentials.
//
// Ownership: one per process; owns both sockets.
// Threading: the io_context's one thread.
// Trust:     requests are hostile (a source distribution may send them), and so are answers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/ssl/context.hpp>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "gateway/relay.h"
#include "model/index_url.h"

namespace vitrine::gateway {

class Gateway {
 public:
  // `listener` listens on 127.0.0.1. `certificates`: PEM; "" = the host's. `invalid_argument` for
  // certificates that cannot be read.
  static Result<std::unique_ptr<Gateway>> make(asio::io_context& io, Fd control, Fd listener,
                                               const std::string& certificates);

  // Looks up a name, so that everything which the resolver loads and starts is there before the seal.
  void warm_resolver();
  // Begins to serve, which needs the io_context to run. The io_context is stopped when the front closes
  // the control socket or breaks the protocol.
  void serve();

 private:
  Gateway(asio::io_context& io, Fd control, asio::ip::tcp::acceptor acceptor,
          asio::ssl::context tls);

  asio::awaitable<void> follow_control();
  // Applies every message that has arrived; false once the front is gone.
  bool read_control();
  asio::awaitable<void> accept_all();
  asio::awaitable<void> answer(asio::ip::tcp::socket socket);
  // The index that the ticket admits to; null for an unknown one.
  const IndexUrl* find(const std::string& ticket);

  asio::io_context& io_;
  asio::posix::stream_descriptor control_;
  asio::ip::tcp::acceptor acceptor_;
  asio::ssl::context tls_;
  std::string own_origin_;                   // "http://127.0.0.1:40123"
  std::map<std::string, IndexUrl> tickets_;  // by the Authorization header that carries them
  std::shared_ptr<Load> load_ = std::make_shared<Load>();  // connections outlive this at the end
};

}  // namespace vitrine::gateway
