// SPDX-License-Identifier: Apache-2.0
// Fd: the one owner of a file descriptor.
//
// Ownership: closes on destruction; move-only. A plain `int fd` elsewhere means "I only look".
#pragma once

#include <unistd.h>

#include <utility>

#include "base/result.h"

namespace vitrine {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct FdPair {
  Fd first;
  Fd second;
};

// AF_UNIX SOCK_SEQPACKET, close-on-exec.
Result<FdPair> make_socketpair();
// first = read end, second = write end; close-on-exec, blocking.
Result<FdPair> make_pipe();
// A copy with close-on-exec.
Result<Fd> duplicate(int fd);
Status set_nonblocking(int fd);

// Opens `path` below `dir`. No symlink and no ".." may lead outside: `invalid_argument`. Never waits:
// a FIFO or device is opened non-blocking (look at the type before you read). Close-on-exec.
// `conflict` if names are moved about so fast that no answer is safe.
Result<Fd> open_below(int dir, const std::string& path, int flags, unsigned mode = 0);

// Reads a small file whole (at most `limit` bytes; more is an error).
Result<std::string> read_file(int dir, const char* path, std::size_t limit = 1 << 20);
// Writes all of `text` with one write(2), as kernel control files want it.
Status write_file(int dir, const char* path, std::string_view text);

}  // namespace vitrine
