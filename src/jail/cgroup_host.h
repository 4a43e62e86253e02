// SPDX-License-Identifier: Apache-2.0
// What control groups this host offers us: which hierarchy limits what, and where our own is.
//
// parse_cgroups() and choose() are pure; detect_cgroups() feeds them from /proc and probes the
// directories. Only places below the keeper's own cgroup are considered: we never climb. What is
// not offered carries the reason, for `vitrine doctor`; nothing here is an error.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::jail {

enum class CgroupVersion { v1, v2 };

// One hierarchy, and our own cgroup in it.
struct CgroupPlace {
  CgroupVersion version = CgroupVersion::v1;
  std::vector<std::string>
      controllers;        // v1: of the hierarchy; v2: those to switch on for sessions
  std::string directory;  // empty = our own cgroup cannot be reached
  std::string refusal;    // why it cannot be used; empty = it can
};

// One thing to be done to a session's processes, and where.
struct CgroupOffer {
  std::optional<std::size_t> place;  // index into CgroupHost::places
  std::string refusal;               // why there is none

  explicit operator bool() const { return place.has_value(); }
};

struct CgroupHost {
  std::vector<CgroupPlace> places;  // only those that an offer needs
  CgroupOffer memory;
  CgroupOffer pids;
  CgroupOffer cpu;
  CgroupOffer cpu_time;  // how much was used
  CgroupOffer freeze;
  CgroupOffer kill;  // also: whether anything is alive
};

// "v2", "v1", "hybrid" or "none", for people.
std::string_view kind_of(const CgroupHost& host);

// Every hierarchy that is mounted, from the text of /proc/self/cgroup and /proc/self/mountinfo.
std::vector<CgroupPlace> parse_cgroups(std::string_view proc_cgroup, std::string_view mountinfo);

// What a look at a directory tells.
struct CgroupProbe {
  std::string refusal;      // why no group can be made in it; empty = one can
  std::string controllers;  // v2: the text of cgroup.controllers
};

CgroupHost choose(std::vector<CgroupPlace> mounted,
                  const std::function<CgroupProbe(const CgroupPlace&)>& probe);

CgroupProbe probe_directory(const CgroupPlace& place);
CgroupHost detect_cgroups();

}  // namespace vitrine::jail
