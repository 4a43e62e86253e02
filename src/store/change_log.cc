// SPDX-License-Identifier: Apache-2.0
#include "store/change_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "wire/codec.h"

namespace vitrine::store {

Result<ChangeLog> ChangeLog::open(const std::string& path) {
  ChangeLog log;
  log.file_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.file_) return Error::from_errno("opening the log of changes");
  Result<std::string> all = read_file(AT_FDCWD, path.c_str(), kMaxBytes);
  if (!all) return std::move(all.error());
  wire::Reader in(*all);
  while (!in.complete()) {
    std::string change = in.text();
    if (in.failed()) break;  // the last append was cut off
    log.bytes_ += change.size();
    log.changes_.push_back(std::move(change));
  }
  return log;
}

Status ChangeLog::append(std::string change) {
  const std::string entry = wire::Writer().bytes(change).take();
  const ssize_t put = ::write(file_.get(), entry.data(), entry.size());
  if (put != static_cast<ssize_t>(entry.size())) {
    Error error = put < 0 ? Error::from_errno("writing the log of changes")
                          : Error{Code::over_limit, "the disk is full"};
    error.remedy = "free space on the disk that holds the data directory";
    // Half an entry would make the next one unreadable.
    const off_t end = ::lseek(file_.get(), 0, SEEK_END);
    if (put > 0 && ::ftruncate(file_.get(), end - put) != 0)
      error.detail = "a partial entry is left";
    return error;
  }
  bytes_ += change.size();
  changes_.push_back(std::move(change));
  return ok();
}

Status ChangeLog::clear() {
  changes_.clear();
  bytes_ = 0;
  if (::ftruncate(file_.get(), 0) != 0) return Error::from_errno("emptying the log of changes");
  return ok();
}

}  // namespace vitrine::store
