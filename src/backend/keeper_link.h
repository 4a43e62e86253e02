// SPDX-License-Identifier: Apache-2.0
// The front's connection to the keeper: requests answered in any order, events as they come.
//
// Ownership: one per front. Waiting callers are resumed with `unavailable` when the keeper is gone.
// Threading: everything runs on the executor given; nothing locks.
// Trust:     the keeper is trusted, but what it says is decoded with the same checks as anything.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/packet.h"
#include "wire/control.h"

namespace vitrine::backend {

namespace asio = boost::asio;

template <class T>
using Task = asio::awaitable<T>;

struct KeeperReply {
  wire::Reply reply = Error{Code::unavailable, "the keeper is gone"};
  std::vector<Fd> fds;
};

class KeeperLink {
 public:
  KeeperLink(asio::any_io_executor executor, Fd socket);

  // Reads until the keeper is gone. `on_event` must not block.
  Task<void> run(std::function<void(const wire::Event&)> on_event);

  // The reply, or an Error inside it.
  Task<KeeperReply> call(const wire::Request& request);
  // Wants no answer.
  void post(const wire::Request& request);

 private:
  using Slot =
      asio::experimental::channel<void(boost::system::error_code, std::shared_ptr<KeeperReply>)>;

  Task<KeeperReply> answer_to(std::uint32_t number);
  Task<void> read_all(std::function<void(const wire::Event&)> on_event);
  void send(std::string packet);
  void flush();

  asio::any_io_executor executor_;
  asio::posix::stream_descriptor socket_;
  std::uint32_t last_number_ = 0;
  bool gone_ = false;
  bool flushing_ = false;
  std::vector<std::string> unsent_;
  std::unordered_map<std::uint32_t, std::shared_ptr<Slot>> waiting_;
};

// The value of a reply, or why there is none.
template <class T>
Result<T> expect(KeeperReply reply) {
  if (auto* value = std::get_if<T>(&reply.reply)) return std::move(*value);
  if (auto* error = std::get_if<Error>(&reply.reply)) return std::move(*error);
  return Error{Code::internal, "the keeper answered something else"};
}

}  // namespace vitrine::backend
