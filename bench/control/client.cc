// SPDX-License-Identifier: Apache-2.0
#include "control/client.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/packet.h"

namespace vitrine::bench::control {

namespace {

constexpr int kHandoverFds = 3;

}  // namespace

Result<ControlClient> ControlClient::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{.code = Code::invalid_argument,
                 .message = "the control socket's path is too long",
                 .remedy = "choose one of at most 107 bytes"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return Error::from_errno("making a socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Error{.code = Code::unavailable,
                 .message = "no keeper answers",
                 .detail = std::strerror(errno),
                 .remedy = "start vitrine-keeper and give its --control path"};
  return ControlClient(std::move(socket));
}

Result<std::uint32_t> ControlClient::send(const wire::Request& request) {
  const std::uint32_t number = last_number_ == UINT32_MAX ? 1 : last_number_ + 1;
  if (Status s = send_packet(fd(), wire::encode_request(number, request), {}, Wait::dont); !s)
    return std::move(s.error());
  last_number_ = number;
  return number;
}

Status ControlClient::post(const wire::Request& request) {
  return send_packet(fd(), wire::encode_request(0, request), {}, Wait::dont);
}

Result<std::optional<FromKeeper>> ControlClient::receive() {
  Result<Packet> packet = receive_packet(fd(), wire::kMaxControl, kMaxPacketFds, Wait::dont);
  if (!packet && packet.error().code == Code::timed_out) return std::optional<FromKeeper>{};
  if (!packet && packet.error().code == Code::unavailable)
    return Error{Code::unavailable, "the keeper is gone"};
  if (!packet) return std::move(packet.error());
  std::vector<Fd>& fds = packet->fds;
  Result<wire::FromKeeper> decoded = wire::decode_from_keeper(packet->bytes);
  if (!decoded) return std::move(decoded.error());
  if (auto* event = std::get_if<wire::Event>(&*decoded)) return std::optional<FromKeeper>(*event);
  auto& numbered = std::get<wire::NumberedReply>(*decoded);
  Answer answer{.number = numbered.number, .reply = std::move(numbered.reply)};
  if (const auto* opened = std::get_if<wire::Opened>(&answer.reply)) {
    if (fds.size() < std::size_t{kHandoverFds})
      return Error{Code::invalid_argument, "the keeper opened a session without its descriptors"};
    answer.opened = Handover{.session = opened->session,
                             .source = opened->source,
                             .socket = std::move(fds[0]),
                             .out = std::move(fds[1]),
                             .err = std::move(fds[2])};
    fds.erase(fds.begin(), fds.begin() + kHandoverFds);
  }
  answer.fds = std::move(fds);
  return std::optional<FromKeeper>(std::move(answer));
}

}  // namespace vitrine::bench::control
