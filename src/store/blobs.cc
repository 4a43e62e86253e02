// SPDX-License-Identifier: Apache-2.0
#include "store/blobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "base/fd.h"
#include "base/sha256.h"

namespace vitrine::store {

namespace {

constexpr std::size_t kInline = 64 * 1024;
constexpr std::size_t kMaxRecord = 256u << 20;
constexpr std::string_view kFilePrefix = "blob:";

}  // namespace

Blobs::Blobs(const std::string& directory) : directory_(directory + "/blobs/") {
  ::mkdir(directory_.c_str(), 0700);
}

bool Blobs::is_file(const std::string& row) { return row.starts_with(kFilePrefix); }

std::string Blobs::path_of(const std::string& row) const {
  return directory_ + row.substr(kFilePrefix.size());
}

Result<std::string> Blobs::keep(const std::string& record) const {
  if (record.size() <= kInline) return record;
  const std::string row = std::string(kFilePrefix) + sha256_hex(record);
  const std::string path = path_of(row);
  const std::string partial = path + ".new";
  Fd file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::size_t done = 0;
  while (file && done < record.size()) {
    const ssize_t put = ::write(file.get(), record.data() + done, record.size() - done);
    if (put <= 0) break;
    done += static_cast<std::size_t>(put);
  }
  if (done < record.size() || ::rename(partial.c_str(), path.c_str()) != 0) {
    Error error = Error::from_errno("storing a large result");
    ::unlink(partial.c_str());
    return error;
  }
  return row;
}

std::string Blobs::fetch(const std::string& row) const {
  if (!is_file(row)) return row;
  Result<std::string> record = read_file(AT_FDCWD, path_of(row).c_str(), kMaxRecord);
  return record ? *record : "";
}

void Blobs::remove(const std::string& row) const { ::unlink(path_of(row).c_str()); }

}  // namespace vitrine::store
