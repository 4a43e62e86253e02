// SPDX-License-Identifier: Apache-2.0
// What a session's proxy tells the front: its decisions as messages, how much went through as counters
// in a file. Both become the network log of the execution that ends.
//
// Ownership: the session's. Threading: the front's one thread.
// Trust:     the proxy reads hostile bytes; after a message that makes no sense it is not applied again.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

#include "base/fd.h"
#include "session/network_log.h"

namespace vitrine::session {

class EgressLog {
 public:
  using Show = std::function<void(const NetworkEntry&)>;

  EgressLog(boost::asio::any_io_executor executor, Fd line, Fd counters);

  // Waits; false once it is closed.
  boost::asio::awaitable<bool> readable();
  // Takes what it told, some of it at most, and shows each decision. False when nothing more can
  // come.
  bool take(const Show& show);
  // The proxy tells and counts before it hands on, so what the execution that ends now saw of the
  // network is here.
  NetworkLog::Report conclude(const Show& show);
  void close();

 private:
  bool take(int most, const Show& show);

  boost::asio::posix::stream_descriptor line_;
  Fd counters_;
  NetworkLog log_;
};

}  // namespace vitrine::session
