// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>

namespace vitrine {

Result<FdPair> make_socketpair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return Error::from_errno("making a socket pair");
  return FdPair{Fd(ends[0]), Fd(ends[1])};
}

Result<FdPair> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::from_errno("making a pipe");
  return FdPair{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> duplicate(int fd) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) return Error::from_errno("duplicating a descriptor");
  return copy;
}

Status set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return Error::from_errno("making a descriptor non-blocking");
  return ok();
}

Result<Fd> open_below(int dir, const std::string& path, int flags, unsigned mode) {
  if (path.find('\0') != std::string::npos)
    return Error{Code::invalid_argument, "a path holds a NUL byte"};
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  // EAGAIN: something was renamed under a ".." while the kernel looked. The session may do that on
  // purpose, for ever.
  for (int tries = 0; tries < 64; ++tries) {
    Fd file(static_cast<int>(::syscall(SYS_openat2, dir, path.c_str(), &how, sizeof how)));
    if (file) return file;
    if (errno != EAGAIN && errno != EINTR)
      return Error::from_errno("opening a file below a directory");
  }
  return Error{.code = Code::conflict,
               .message = "the directories on the way to a file keep changing",
               .remedy = "try again when the session is idle"};
}

Result<std::string> read_file(int dir, const char* path, std::size_t limit) {
  Fd file(::openat(dir, path, O_RDONLY | O_CLOEXEC));
  if (!file) return Error::from_errno("opening a file");
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("reading a file");
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > limit) return Error{Code::over_limit, "a file is larger than expected"};
  }
}

Status write_file(int dir, const char* path, std::string_view text) {
  Fd file(::openat(dir, path, O_WRONLY | O_CLOEXEC));
  if (!file) return Error::from_errno("opening a file for writing");
  const ssize_t put = ::write(file.get(), text.data(), text.size());
  if (put < 0) return Error::from_errno("writing a file");
  if (static_cast<std::size_t>(put) != text.size())
    return Error{Code::internal, "a file took only part of the text"};
  return ok();
}

}  // namespace vitrine
