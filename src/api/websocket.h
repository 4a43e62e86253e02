// SPDX-License-Identifier: Apache-2.0
// A WebSocket as an adapter sees it: whole messages in and out.
//
// Ownership: shared by the route and by the coroutines that read and write; it lives until both
//            directions are over. Threading: the front's one thread.
// Trust:     every message was chosen by the client. Their size is limited, a peer that sends faster
//            than the route reads is not read, pings are answered also while a route is busy, and a
//            peer that does not answer ours is dropped after about five minutes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/exchange.h"

namespace vitrine::api {

class WebSocket {
 public:
  struct Message {
    std::string data;
    bool is_text = true;
  };
  enum class Close : std::uint16_t { normal = 1000, going_away = 1001, policy = 1008 };

  virtual ~WebSocket() = default;

  // The next message; none once the peer has left or close() was called.
  virtual Task<std::optional<Message>> next() = 0;
  // Queued, in order; waits while much is unsent. False once the peer is gone.
  virtual Task<bool> send(Message message) = 0;
  // After all that was sent before. Returns when the peer has agreed, or did not in time.
  virtual Task<void> close(Close code, std::string_view reason) = 0;
  // Returns when the peer has left or close() was called.
  virtual Task<void> gone() = 0;
};

}  // namespace vitrine::api
