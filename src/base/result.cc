// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vitrine {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::conflict: return "conflict";
    case Code::over_limit: return "over_limit";
    case Code::timed_out: return "timed_out";
    case Code::unsupported: return "unsupported";
    case Code::unavailable: return "unavailable";
    case Code::internal: return "internal";
  }
  return "internal";
}

namespace {

Code code_of(int errnum) {
  switch (errnum) {
    case ENOENT:
    case ENOTDIR: return Code::not_found;
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case EXDEV:
    case ENAMETOOLONG: return Code::invalid_argument;
    case EEXIST:
    case EBUSY:
    case ENOTEMPTY: return Code::conflict;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EMSGSIZE:
    case ETOOMANYREFS:
    case EAGAIN:
    case ENOMEM: return Code::over_limit;
    case ENOSYS:
    case EOPNOTSUPP: return Code::unsupported;
    case EPIPE:
    case ECONNRESET:
    case ECONNREFUSED:
    case ESRCH: return Code::unavailable;
    case ETIMEDOUT: return Code::timed_out;
    default: return Code::internal;
  }
}

}  // namespace

Error Error::from_errno(std::string_view doing) { return from_errno(doing, errno); }

Error Error::from_errno(std::string_view doing, int errnum) {
  return Error{.code = code_of(errnum),
               .message = std::string(doing) + " failed: " + std::strerror(errnum)};
}

Error Error::during(std::string_view what) && {
  message = std::string(what) + ": " + message;
  return std::move(*this);
}

Error Error::with_remedy(std::string_view text) && {
  remedy = text;
  return std::move(*this);
}

Error Error::as_ours() && {
  if (code == Code::not_found || code == Code::invalid_argument || code == Code::conflict)
    code = Code::internal;
  return std::move(*this);
}

std::string Error::describe() const {
  std::string text = std::string(to_string(code)) + ": " + message;
  if (!detail.empty()) text += " (" + detail + ")";
  if (!remedy.empty()) text += "; remedy: " + remedy;
  return text;
}

std::string Error::pack() const {
  std::string packed(1, static_cast<char>(code));
  for (const std::string* text : {&message, &detail, &remedy}) packed += *text + '\0';
  return packed;
}

Error Error::unpack(std::string_view packed) {
  Error error{.code = Code::internal, .message = "an error that cannot be read"};
  if (packed.empty() || static_cast<unsigned char>(packed[0]) > static_cast<int>(Code::internal))
    return error;
  error.code = static_cast<Code>(packed[0]);
  packed.remove_prefix(1);
  for (std::string* text : {&error.message, &error.detail, &error.remedy}) {
    const std::size_t end = std::min(packed.find('\0'), packed.size());
    *text = packed.substr(0, end);
    packed.remove_prefix(std::min(end + 1, packed.size()));
  }
  return error;
}

}  // namespace vitrine
