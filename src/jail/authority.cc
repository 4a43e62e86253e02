// SPDX-License-Identifier: Apache-2.0
#include "jail/authority.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <string_view>

#include "model/geometry.h"

namespace vitrine::jail {

namespace {

constexpr int kBacklog = 64;

void put(std::string& out, std::string_view bytes) {
  out += static_cast<char>(bytes.size() >> 8);
  out += static_cast<char>(bytes.size() & 0xFF);
  out += bytes;
}

// The families of Xauth.h, big endian.
constexpr std::string_view kAnyFamily("\xFF\xFF", 2);
constexpr std::string_view kLocalFamily("\x01\x00", 2);

void put_entry(std::string& out, std::string_view family, std::string_view host,
               std::string_view display, const Cookie& cookie) {
  out += family;
  put(out, host);
  put(out, display);
  put(out, "MIT-MAGIC-COOKIE-1");
  put(out, {reinterpret_cast<const char*>(cookie.data()), cookie.size()});
}

}  // namespace

std::string authority_bytes(const Cookie& cookie) {
  std::string out;
  put_entry(out, kAnyFamily, "", "", cookie);
  put_entry(out, kLocalFamily, kHostName, std::to_string(kDisplayNumber), cookie);
  return out;
}

Status write_authority(Sys& sys, const std::string& path, const Cookie& cookie) {
  const std::string bytes = authority_bytes(cookie);
  Fd file(sys(::open, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file ||
      sys(::write, file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return Error::from_errno("writing the display's cookie");
  if (sys(::fchmod, file.get(), 0444) != 0) return Error::from_errno("opening the cookie to all");
  return ok();
}

Result<Fd> listen_as_display(Sys& sys, const std::string& directory) {
  const std::string path = directory + "/X" + std::to_string(kDisplayNumber);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{Code::internal, "the display's path is too long"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(sys(::socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error::from_errno("making the display's socket");
  if (sys(::bind, socket.get(), reinterpret_cast<const sockaddr*>(&address),
          static_cast<socklen_t>(sizeof address)) != 0)
    return Error::from_errno("binding the display's socket");
  if (sys(::chmod, path.c_str(), 0666) != 0) return Error::from_errno("opening the display to all");
  if (sys(::listen, socket.get(), kBacklog) != 0) return Error::from_errno("listening");
  return socket;
}

}  // namespace vitrine::jail
