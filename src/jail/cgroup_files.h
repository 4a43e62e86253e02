// SPDX-License-Identifier: Apache-2.0
// Small acts on cgroup directories, the same for both versions.
//
// Paths are relative to a directory descriptor that the caller keeps; every file is opened on
// demand and closed again. A group that does not exist (any more) has no members.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace vitrine::jail {

// A file that holds one decimal number.
Result<std::uint64_t> read_number(int dir, const std::string& path);
// The same for one that is open; read from its start.
Result<std::uint64_t> read_number_from(int file);
// The number behind `key` in a file of "key number" lines. `unsupported` if there is no such line.
Result<std::uint64_t> read_keyed(int dir, const std::string& path, std::string_view key);
// The same for one that is open, as far as its first 4 KiB; read from its start.
Result<std::uint64_t> read_keyed_from(int file, std::string_view key);

// Sends SIGKILL to everyone in the group `path` (not in groups below). Afterwards each has it
// pending; `timed_out` if processes kept appearing. A process that left the group meanwhile is
// spared, even if its number was given to another.
Status kill_members(int dir, const std::string& path);

// Lets every thread listed in `file` of the group run on these processors only; what they start
// follows. Some that were started meanwhile by one not reached yet may be missed. Goes on after one
// that is refused, and tells why the first was.
Status confine_members(int dir, const std::string& path, const char* file, const cpu_set_t& cpus);

// For how long the threads listed in `file` of the group have waited for a processor; 0 for those of
// which the kernel does not tell.
std::uint64_t waited_usec_of_members(int dir, const std::string& path, const char* file);

// True if the group itself has a member.
Result<bool> has_members(int dir, const std::string& path);

// Kills everyone in `path` and all groups below.
Status kill_below(int dir, const std::string& path);
// The groups directly below, as paths relative to `dir`.
Result<std::vector<std::string>> groups_in(int dir, const std::string& path);

// Removes the group. One that still has dying members is tried again until `patience` is over.
Status remove_group(int dir, const std::string& path, std::chrono::milliseconds patience);
// The same for the group and all groups below it, deepest first.
Status remove_below(int dir, const std::string& path, std::chrono::milliseconds patience);

}  // namespace vitrine::jail
