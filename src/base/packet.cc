// SPDX-License-Identifier: Apache-2.0
#include "base/packet.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vitrine {

Status send_packet(int socket, std::string_view bytes, const std::vector<int>& fds, Wait wait) {
  if (fds.size() > kMaxPacketFds) return Error{Code::over_limit, "too many descriptors"};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxPacketFds)> control{};
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  const int flags = MSG_NOSIGNAL | (wait == Wait::dont ? MSG_DONTWAIT : 0);
  for (;;) {
    if (::sendmsg(socket, &message, flags) >= 0) return ok();
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return Error{Code::over_limit, "the peer does not read"};
    return Error::from_errno("sending a packet");
  }
}

Status send_naming(int socket, std::string_view bytes, int pid) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof(ucred));
  const ucred named{.pid = pid, .uid = ::geteuid(), .gid = ::getegid()};
  std::memcpy(CMSG_DATA(header), &named, sizeof named);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return Error::from_errno("sending a packet");
  return ok();
}

Status receive_names(int socket) {
  const int yes = 1;
  if (::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
    return Error::from_errno("asking for names");
  return ok();
}

Result<Packet> receive_packet(int socket, std::size_t limit, std::size_t max_fds, Wait wait) {
  // Most packets are far smaller than they may be: received here, then copied at their real size.
  thread_local std::vector<char> space;
  if (space.size() < limit) space.resize(limit);
  Packet packet;
  iovec part{space.data(), limit};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr)
      std::array<char, CMSG_SPACE(sizeof(int) * kMaxPacketFds) + CMSG_SPACE(sizeof(ucred))>
          control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const int flags = MSG_CMSG_CLOEXEC | (wait == Wait::dont ? MSG_DONTWAIT : 0);
  ssize_t got = -1;
  do got = ::recvmsg(socket, &message, flags);
  while (got < 0 && errno == EINTR);
  if (got < 0) {
    if (errno == EAGAIN) return Error{Code::timed_out, "no packet yet"};
    return Error::from_errno("receiving a packet");
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_CREDENTIALS) {
      ucred named{};
      std::memcpy(&named, CMSG_DATA(header), sizeof named);
      packet.pid = named.pid;
    }
    if (header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      packet.fds.emplace_back(fd);
    }
  }
  if (got == 0 && packet.fds.empty()) return Error{Code::unavailable, "the peer is gone"};
  if ((message.msg_flags & MSG_TRUNC) != 0) return Error{Code::over_limit, "a packet is too big"};
  if ((message.msg_flags & MSG_CTRUNC) != 0)
    return Error{Code::over_limit, "too many descriptors in a packet"};
  if (packet.fds.size() > max_fds)
    return Error{Code::over_limit, "too many descriptors in a packet"};
  packet.bytes.assign(space.data(), static_cast<std::size_t>(got));
  return packet;
}

}  // namespace vitrine
