// SPDX-License-Identifier: Apache-2.0
// vitrine-gateway: adds an index's credentials to the requests of installations.
//
// The keeper starts it at the front's request (keeper/gateway_process.h). Descriptor 3 is the front's
// socket (src/wire/gateway.h); the listening socket, the certificates and the credentials come through
// it. The process seals itself before it accepts a connection, and exits with the front.
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/packet.h"
#include "gateway/gateway.h"
#include "gateway/seal.h"
#include "wire/gateway.h"

namespace vitrine::gateway {

namespace {

constexpr int kControl = 3;

Result<std::string> read_certificates(int file) {
  std::string text(wire::gateway::kMaxCertificates + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size();) {
    got = ::pread(file, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0) return Error::from_errno("reading the certificates");
    size += static_cast<std::size_t>(got);
  }
  if (size == text.size()) return Error{Code::over_limit, "the certificates are too large"};
  text.resize(size);
  return text;
}

struct Started {
  Fd listener;
  std::string certificates;
};

Result<Started> receive_start(int control) {
  Result<Packet> packet = receive_packet(control, wire::gateway::kMaxPacket, 2);
  if (!packet) return std::move(packet.error());
  Result<wire::gateway::Request> request = wire::gateway::decode_request(packet->bytes);
  if (!request) return std::move(request.error());
  if (!std::holds_alternative<wire::gateway::Start>(*request) || packet->fds.size() != 2)
    return Error{Code::invalid_argument, "the first message is not Start with two descriptors"};
  Result<std::string> certificates = read_certificates(packet->fds[1].get());
  if (!certificates) return std::move(certificates.error());
  return Started{std::move(packet->fds[0]), std::move(*certificates)};
}

Status serve() {
  Fd control(kControl);
  Result<Started> start = receive_start(control.get());
  if (!start) return std::move(start.error());
  const Fd front(::fcntl(control.get(), F_DUPFD_CLOEXEC, 0));  // for answers
  if (!front) return Error::from_errno("duplicating the front's socket");
  asio::io_context io(1);
  const auto fail = [&](const Error& error) {
    (void)send_packet(front.get(),
                      wire::gateway::encode_reply(wire::gateway::Failed{error.message}), {},
                      Wait::dont);
    return error;
  };
  Result<std::unique_ptr<Gateway>> gateway =
      Gateway::make(io, std::move(control), std::move(start->listener), start->certificates);
  if (!gateway) return fail(gateway.error());
  (*gateway)->warm_resolver();
  if (Status sealed = seal_gateway(); !sealed) return fail(sealed.error());
  if (Status sent = send_packet(front.get(), wire::gateway::encode_reply(wire::gateway::Started{}),
                                {}, Wait::dont);
      !sent)
    return sent;
  (*gateway)->serve();
  io.run();
  ::_exit(0);  // the resolver's thread may still be running: nothing is destroyed under it
}

}  // namespace

}  // namespace vitrine::gateway

int main() {
  ::prctl(PR_SET_NAME, "vitrine-gateway", 0, 0, 0);  // it is started from a descriptor
  std::signal(SIGPIPE, SIG_IGN);
  ::mallopt(M_ARENA_MAX, 1);
  ::setenv("LOCALDOMAIN", "", 1);  // names are looked up as they are, in bounded time
  ::setenv("RES_OPTIONS", "timeout:3 attempts:2", 1);
  if (vitrine::Status served = vitrine::gateway::serve(); !served) {
    std::fprintf(stderr, "vitrine-gateway: %s\n", served.error().describe().c_str());
    ::_exit(1);
  }
}
