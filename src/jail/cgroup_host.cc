// SPDX-License-Identifier: Apache-2.0
#include "jail/cgroup_host.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "base/fd.h"

namespace vitrine::jail {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// mountinfo writes blank, tab, newline and backslash as three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7';
    };
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

struct CgroupMount {
  CgroupVersion version = CgroupVersion::v1;
  std::vector<std::string> options;  // of the file system: v1 controllers are among them
  std::string root;                  // which group of the hierarchy is visible as the mount point
  std::string point;
  bool read_only = false;
};

// 31 23 0:28 /root /point rw,relatime shared:1 - cgroup cgroup rw,memory
std::optional<CgroupMount> parse_mount(std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (dash - words.begin() < 6 || words.end() - dash < 4) return std::nullopt;
  const std::string_view type = dash[1];
  if (type != "cgroup" && type != "cgroup2") return std::nullopt;
  CgroupMount mount{.version = type == "cgroup2" ? CgroupVersion::v2 : CgroupVersion::v1,
                    .root = unescape(words[3]),
                    .point = unescape(words[4])};
  const auto read_only = [](std::string_view options) {
    const auto list = split(options, ',');
    return std::find(list.begin(), list.end(), "ro") != list.end();
  };
  mount.read_only = read_only(words[5]) || read_only(dash[3]);
  for (std::string_view option : split(dash[3], ',')) mount.options.emplace_back(option);
  return mount;
}

// Where the group `path` is seen below `mount`; nullopt if the mount shows another part.
std::optional<std::string> seen_at(const CgroupMount& mount, std::string_view path) {
  if (path.find("/..") != std::string_view::npos) return std::nullopt;
  if (mount.root != "/") {
    if (!path.starts_with(mount.root)) return std::nullopt;
    path.remove_prefix(mount.root.size());
    if (!path.empty() && path.front() != '/') return std::nullopt;
  }
  return path == "/" ? mount.point : mount.point + std::string(path);
}

void locate(CgroupPlace& place, const std::vector<CgroupMount>& mounts, std::string_view path) {
  place.refusal = "it is not mounted";
  for (const CgroupMount& mount : mounts) {
    if (mount.version != place.version) continue;
    const bool same = place.version == CgroupVersion::v2 ||
                      std::all_of(place.controllers.begin(), place.controllers.end(),
                                  [&](const auto& c) { return contains(mount.options, c); });
    if (!same) continue;
    const auto directory = seen_at(mount, path);
    if (!directory) {
      if (place.directory.empty()) place.refusal = "our own cgroup is outside of what is mounted";
      continue;
    }
    // Of several mounts of one hierarchy a writable one is better.
    if (!place.directory.empty() && mount.read_only) continue;
    place.directory = *directory;
    place.refusal = mount.read_only ? "it is mounted read-only" : "";
    if (!mount.read_only) return;
  }
}

// The offer of the first usable place that `fits`; otherwise the last reason met.
template <class Fits>
CgroupOffer find(const std::vector<CgroupPlace>& places, Fits fits) {
  CgroupOffer offer{.refusal = "no hierarchy has it"};
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!fits(places[i])) continue;
    if (places[i].refusal.empty()) return {.place = i, .refusal = ""};
    offer.refusal = places[i].refusal;
  }
  return offer;
}

CgroupOffer first_of(std::initializer_list<CgroupOffer> offers) {
  for (const CgroupOffer& offer : offers)
    if (offer) return offer;
  return *offers.begin();
}

}  // namespace

std::vector<CgroupPlace> parse_cgroups(std::string_view proc_cgroup, std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  for (std::string_view line : split(mountinfo, '\n'))
    if (auto mount = parse_mount(line)) mounts.push_back(std::move(*mount));
  std::vector<CgroupPlace> places;
  for (std::string_view line : split(proc_cgroup, '\n')) {
    // 4:memory:/path, 0::/path
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    CgroupPlace place;
    for (std::string_view name : split(line.substr(first + 1, second - first - 1), ','))
      place.controllers.emplace_back(name);
    if (place.controllers.empty()) place.version = CgroupVersion::v2;
    locate(place, mounts, line.substr(second + 1));
    places.push_back(std::move(place));
  }
  return places;
}

CgroupHost choose(std::vector<CgroupPlace> mounted,
                  const std::function<CgroupProbe(const CgroupPlace&)>& probe) {
  for (CgroupPlace& place : mounted) {
    if (!place.refusal.empty()) continue;
    CgroupProbe found = probe(place);
    place.refusal = std::move(found.refusal);
    if (place.version == CgroupVersion::v1) continue;
    for (std::string_view name : split(found.controllers, ' ')) {
      while (name.ends_with('\n')) name.remove_suffix(1);
      if (name == "memory" || name == "pids" || name == "cpu") place.controllers.emplace_back(name);
    }
  }

  const auto controller = [&](std::string_view name) {
    return find(mounted, [&](const CgroupPlace& p) { return contains(p.controllers, name); });
  };
  const CgroupOffer unified =
      find(mounted, [](const CgroupPlace& p) { return p.version == CgroupVersion::v2; });
  CgroupHost host;
  host.memory = controller("memory");
  host.pids = controller("pids");
  host.cpu = controller("cpu");
  host.cpu_time = first_of({unified, controller("cpuacct")});
  host.freeze = first_of({unified, controller("freezer")});
  // On v1 the pids hierarchy is best: a limit of 0 there stops a fork bomb while it is killed.
  host.kill = first_of(
      {unified, host.pids, controller("freezer"), host.cpu, host.memory, controller("cpuacct")});

  // Keep only the places somebody needs, each once.
  std::map<std::size_t, std::size_t> kept;
  for (CgroupOffer* offer :
       {&host.memory, &host.pids, &host.cpu, &host.cpu_time, &host.freeze, &host.kill}) {
    if (!*offer) continue;
    const auto [entry, is_new] = kept.emplace(*offer->place, host.places.size());
    if (is_new) host.places.push_back(mounted[*offer->place]);
    offer->place = entry->second;
  }
  return host;
}

std::string_view kind_of(const CgroupHost& host) {
  const auto is = [](CgroupVersion version) {
    return [version](const CgroupPlace& place) { return place.version == version; };
  };
  const bool v1 = std::any_of(host.places.begin(), host.places.end(), is(CgroupVersion::v1));
  const bool v2 = std::any_of(host.places.begin(), host.places.end(), is(CgroupVersion::v2));
  if (v1 && v2) return "hybrid";
  return v1 ? "v1" : v2 ? "v2" : "none";
}

CgroupProbe probe_directory(const CgroupPlace& place) {
  CgroupProbe found;
  // Making a group needs the directory; moving a process out of our own needs its list as well.
  for (const char* file : {"", "/cgroup.procs"})
    if (::faccessat(AT_FDCWD, (place.directory + file).c_str(), W_OK, AT_EACCESS) != 0)
      found.refusal = errno == EACCES  ? "we may not write to our own cgroup"
                      : errno == EROFS ? "it is mounted read-only"
                                       : std::string("our own cgroup: ") + std::strerror(errno);
  if (place.version == CgroupVersion::v2)
    if (auto text = read_file(AT_FDCWD, (place.directory + "/cgroup.controllers").c_str()))
      found.controllers = std::move(*text);
  return found;
}

CgroupHost detect_cgroups() {
  Result<std::string> groups = read_file(AT_FDCWD, "/proc/self/cgroup");
  Result<std::string> mounts = read_file(AT_FDCWD, "/proc/self/mountinfo");
  if (!groups || !mounts) return choose({}, probe_directory);
  return choose(parse_cgroups(*groups, *mounts), probe_directory);
}

}  // namespace vitrine::jail
