// SPDX-License-Identifier: Apache-2.0
// A session's files, seen from outside: every call works below the home directory and with the ids
// of the session's own code, so that the keeper's privileges never decide anything.
//
// Trust:   names and contents are hostile: no link leads outside the home (openat2), only regular
//          files are opened, directories are read in bounded pages.
// Failure: `invalid_argument` for a path that is no plain relative path or leads outside, `not_found`,
//          `conflict` for the wrong kind of thing and for what the session's own code may not touch,
//          `over_limit` when the quota is used up.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/fd.h"
#include "keeper/isolation.h"
#include "wire/control.h"

namespace vitrine::keeper {

// Whose files: O_PATH of the home, and the host's ids of the session (nullopt = our own already).
struct Home {
  int directory = -1;
  std::optional<uid_t> user = {};
};

// Relative, at most 4096 bytes, no NUL, no empty part, no "." or "..".
Status check_path(const std::string& path);

Result<OpenedFile> open_file(const Home& home, const std::string& path);
// A file without a name, in the file system of `path`, whose parents are made: it is gone with its last
// descriptor unless commit_file() gives it its name, in the place of whatever file had it.
Result<Fd> new_file(const Home& home, const std::string& path);
// In between it may have the name `hidden`, beside `path`; see keeper/hidden_name.h.
Status commit_file(const Home& home, const std::string& path, int file, const std::string& hidden);
// Removes for about as long as `slice`. in_part = call it again; what is gone stays gone.
enum class Removed { whole, in_part };
Result<Removed> remove_file(const Home& home, const std::string& path,
                            std::chrono::milliseconds slice);
Result<wire::FilesListed> list_files(const Home& home, const std::string& path,
                                     const std::string& after);

}  // namespace vitrine::keeper
