// SPDX-License-Identifier: Apache-2.0
// What a builder is started with: the ids it may give away, the trees it lays under sessions, and the
// programs it runs there. A value; whoever made the descriptors owns them.
#pragma once

#include <cstdint>
#include <string>

namespace vitrine::keeper {

// Ids of the outer namespace as the host sees them.
struct OuterIds {
  std::uint32_t first = 0;  // outer 0
  std::uint32_t count = 1;  // 1 = unprivileged: sessions share the keeper's own uid
};

// How many sessions can have ids of their own: each takes one for its code and one for its display.
inline std::uint32_t slots_of(const OuterIds& ids) { return (ids.count - 1) / 2; }

struct BuilderConfig {
  OuterIds ids;
  std::string image;      // the image's root directory
  std::string runtime;    // the directory laid over it (usr/lib/vitrine/...)
  int init_program = -1;  // sealed memfd
  // The two as mounts of their own, made by a keeper that may reach what the builder may not, such as
  // a directory below /root; -1 = the builder opens them by their names.
  int image_tree = -1;
  int runtime_tree = -1;
  int screen_program = -1;  // sealed memfd of vitrine-screen; -1 = this build has none
  int display_filter = -1;  // sealed memfd: the base system call filter
  // Package layers: a directory with one directory each, and one with wheels; "" = there is none.
  std::string layers = {};
  std::string wheels = {};
  int layers_tree = -1;
  int wheels_tree = -1;
  std::string environments = {};  // the operator's, one directory each; "" = there are none
  int environments_tree = -1;
};

}  // namespace vitrine::keeper
