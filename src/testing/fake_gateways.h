// SPDX-License-Identifier: Apache-2.0
// The keeper's answer to StartGateway, and the gateways' ends of the sockets that it hands out.
//
// Ownership: the test's; it must outlive what the keeper is asked. Threading: the test's.
#pragma once

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/packet.h"
#include "testing/fake_keeper.h"
#include "wire/gateway.h"

namespace vitrine::testing {

class FakeGateways {
 public:
  // Each one that is started says `answer`; nothing if there is none.
  explicit FakeGateways(FakeKeeper& keeper,
                        std::optional<wire::gateway::Reply> answer = wire::gateway::Started{})
      : answer_(std::move(answer)) {
    keeper.on<wire::StartGateway>([this](const wire::StartGateway&) {
      Result<FdPair> pair = make_socketpair();
      sockets_.push_back(std::move(pair->first));
      if (answer_ && !send_packet(sockets_.back().get(), wire::gateway::encode_reply(*answer_)))
        throw std::runtime_error("a fake gateway cannot answer");
      FakeKeeper::Answer reply{wire::Done{}};
      reply.fds.push_back(std::move(pair->second));
      return reply;
    });
  }

  std::size_t started() const { return sockets_.size(); }
  void kill() { sockets_.back().reset(); }
  // Whether the front has hung up on the one that was started last.
  bool is_left() {
    Result<Packet> packet = receive_packet(sockets_.back().get(), 1 << 16, 2, Wait::dont);
    return !packet && packet.error().code == Code::unavailable;
  }
  // The next message to the one that was started last, with its descriptors in `fds`.
  template <class T>
  std::optional<T> next() {
    Result<Packet> packet =
        receive_packet(sockets_.back().get(), wire::gateway::kMaxPacket, 2, Wait::dont);
    if (!packet) return std::nullopt;
    fds = std::move(packet->fds);
    Result<wire::gateway::Request> request = wire::gateway::decode_request(packet->bytes);
    T* found = request ? std::get_if<T>(&*request) : nullptr;
    return found == nullptr ? std::nullopt : std::optional<T>(std::move(*found));
  }

  std::vector<Fd> fds;

 private:
  std::optional<wire::gateway::Reply> answer_;
  std::vector<Fd> sockets_;
};

}  // namespace vitrine::testing
