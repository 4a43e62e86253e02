// SPDX-License-Identifier: Apache-2.0
// A session's files, also while code runs and after it died: opened, written, removed, listed.
//
// Errors: `not_found`, `invalid_path` for a path that leads outside or nowhere, `disk_full`; a directory
//         that is opened as a file is a `conflict`.
// Ownership: one per front. Threading: the front's one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/keeper_link.h"
#include "base/fd.h"
#include "service/client.h"
#include "service/session_ref.h"

namespace vitrine::service {

using FileEntry = wire::FilesListed::Entry;

struct OpenFile {
  Fd file;
  std::uint64_t size = 0;
  std::uint64_t modified_ms = 0;
};

// A file that is being written: it appears under its name when it is committed.
struct Upload {
  Fd file;
  std::string path;
  std::string hidden;  // its name until then
};

class FileOperations {
 public:
  explicit FileOperations(backend::KeeperLink& keeper) : keeper_(keeper) {}

  Task<Result<OpenFile>> open(SessionRef session, std::string path);
  Task<Result<Upload>> begin(SessionRef session, std::string path);
  Task<Status> commit(SessionRef session, Upload upload);
  // Forgets what was begun.
  void discard(const SessionRef& session, const Upload& upload);
  Task<Status> remove(SessionRef session, std::string path);
  // Of a directory, ordered by name; "" = the session's home.
  Task<Result<std::vector<FileEntry>>> list(SessionRef session, std::string path);
  Task<Status> check_directory(SessionRef session, std::string path);

 private:
  backend::KeeperLink& keeper_;
};

// The error of an operation on files as clients are told it.
Error file_error(Error error);

}  // namespace vitrine::service
