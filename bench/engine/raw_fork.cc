// SPDX-License-Identifier: Apache-2.0
#include "engine/raw_fork.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace vitrine::bench {

namespace {

constexpr char kBoot[] = R"(
import builtins
import _raw_fork
from vitrine_runtime import zygote
zygote.warm(%s)
id, code = _raw_fork.serve(3)
names = {"__name__": "__main__", "__builtins__": builtins}
exec(compile(code, "<cell>", "exec"), names)
_raw_fork.done(id, repr(names["_"]))
)";

// Seen as a stopped server instead of a hang; nothing here takes seconds.
constexpr timeval kPatience{.tv_sec = 60, .tv_usec = 0};

}  // namespace

Result<RawFork> RawFork::start(const ImageRoot& root, const std::string& variant) {
  Result<FdPair> pair = make_socketpair();
  if (!pair) return std::move(pair.error());
  std::string boot = kBoot;
  boot.replace(boot.find("%s"), 2, "'" + variant + "'");
  Result<Process> process = bench::start({.argv = {"/usr/bin/python3", "-c", boot},
                                          .environment = zygote_environment(),
                                          .fds = {{pair->second.get(), 3}},
                                          .prepare = [&root] { return enter_image(root); }});
  if (!process) return std::move(process.error());
  ::setsockopt(pair->first.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  pair->second.reset();
  RawFork server;
  server.process_ = std::move(*process);
  server.socket_ = std::move(pair->first);
  Result<RawReply> warm = server.receive();
  if (!warm) return std::move(warm.error()).during("starting the raw fork server");
  return server;
}

Status RawFork::fork(std::uint32_t id, const std::string& code) {
  RawRequest request{.id = id};
  if (code.size() >= sizeof request.code) return Error{Code::over_limit, "the code is too long"};
  std::memcpy(request.code, code.data(), code.size());
  if (::send(socket_.get(), &request, sizeof request, MSG_NOSIGNAL) < 0)
    return Error::from_errno("asking the raw fork server");
  return ok();
}

Result<RawReply> RawFork::receive() {
  RawReply reply;
  ssize_t got = -1;
  do got = ::recv(socket_.get(), &reply, sizeof reply, 0);
  while (got < 0 && errno == EINTR);
  if (got == 0) return Error{Code::unavailable, "the raw fork server is gone"};
  if (got != sizeof reply) return Error::from_errno("waiting for the raw fork server");
  return reply;
}

}  // namespace vitrine::bench
