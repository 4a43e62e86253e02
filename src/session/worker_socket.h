// SPDX-License-Identifier: Apache-2.0
// The front's end of a worker's socket: messages out, whole messages in. What cannot be sent at once
// waits here and goes out in order; what comes in is put together from frames and checked.
//
// Ownership: shared by a session and the coroutine that sends what waits.
// Threading: the front's one thread.
// Trust:     every byte that comes was chosen by untrusted code. A breach of the protocol is an error,
//            after which nothing that comes is worth reading.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "wire/frame.h"

namespace vitrine::session {

class WorkerSocket : public std::enable_shared_from_this<WorkerSocket> {
 public:
  // Of a new worker, or (adopted) of one that another front has served.
  enum class Origin { fresh, adopted };
  WorkerSocket(boost::asio::any_io_executor executor, Fd socket, Origin origin);

  void send(wire::Type type, std::uint64_t number, std::string_view payload);

  // Waits; false once it is closed.
  boost::asio::awaitable<bool> readable();
  // Takes the frames that are there, so many at most, and shows each message that is whole. False at
  // the end of the stream, or as soon as it is stopped.
  Result<bool> take(int most, const std::function<void(const wire::Message&)>& show);

  // Nothing is sent or taken any more; the worker does not see it.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  void close();

 private:
  boost::asio::awaitable<void> flush();

  boost::asio::posix::stream_descriptor socket_;
  wire::Assembler assembler_{wire::Assembler::Direction::from_worker};
  std::deque<std::string> unsent_;
  bool flushing_ = false;
  bool stopped_ = false;
  bool reset_ = false;  // the worker died with messages of ours unread
};

}  // namespace vitrine::session
