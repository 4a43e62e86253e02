// SPDX-License-Identifier: Apache-2.0
// For tests: a channel whose other ends, the worker's, are in the test's hands.
#pragma once

#include <optional>
#include <string_view>

#include "base/packet.h"
#include "control/channel.h"

namespace vitrine::bench::control {

struct FakeSession {
  FakeSession() {
    Result<FdPair> socket = make_socketpair();
    Result<FdPair> out_pipe = make_pipe();
    Result<FdPair> err_pipe = make_pipe();
    channel.emplace(Handover{.session = 1,
                             .source = Source::warm,
                             .socket = std::move(socket->first),
                             .out = std::move(out_pipe->first),
                             .err = std::move(err_pipe->first)});
    worker = std::move(socket->second);
    out = std::move(out_pipe->second);
    err = std::move(err_pipe->second);
  }

  // As the worker would.
  void say(wire::Type type, std::uint64_t execution, std::uint32_t sequence,
           std::string_view payload, std::uint8_t flags = 0) const {
    (void)send_packet(worker.get(), wire::encode_frame({.type = type,
                                                        .flags = flags,
                                                        .execution = execution,
                                                        .sequence = sequence,
                                                        .payload = payload}));
  }

  // The next whole message from the client.
  std::optional<wire::Message> heard() {
    for (;;) {
      Result<Packet> packet = receive_packet(worker.get(), wire::kMaxFrame, 0, Wait::dont);
      if (!packet) return std::nullopt;
      Result<wire::Frame> frame = wire::decode_frame(packet->bytes);
      if (!frame) return std::nullopt;
      Result<std::optional<wire::Message>> message = assembler.add(*frame);
      if (!message) return std::nullopt;
      if (*message) return std::move(**message);
    }
  }

  std::optional<Channel> channel;
  Fd worker;
  Fd out;
  Fd err;
  wire::Assembler assembler{wire::Assembler::Direction::from_client};
};

}  // namespace vitrine::bench::control
