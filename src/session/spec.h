// SPDX-License-Identifier: Apache-2.0
// What a session is made of: who asked for it, its limits, what it may reach and what it has. A value,
// and how the store keeps it: without secrets, and without what only concerns its making.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/keeper_link.h"
#include "model/isolation.h"
#include "model/layer.h"
#include "model/limits.h"
#include "session/execution.h"

namespace vitrine::session {

struct SessionSpec {
  std::string name;
  std::string owner;  // the identity that made it; "" = anonymous
  Variant variant = Variant::loaded;
  Lifetime lifetime = Lifetime::session;
  // Its client replaces it again and again: its shell may be recycled for the owner's next, as a one-shot's.
  bool is_episode = false;
  bool stored = true;  // sessions that are not end with the front, and have no history
  Limits limits;
  std::map<std::string, std::string> env;
  std::vector<std::string> lost_env;  // names whose values went with an earlier front
  std::optional<std::uint64_t> seed;
  std::optional<Network> network;  // none = sealed
  Policy policy = Policy::native;
  std::vector<std::string> imports;  // modules that it has, and that its policy allows
  IsolationKind isolation = IsolationKind::process;
  std::string environment;  // the operator's, model/environment.h; "" = the image alone
  Geometry display;
  bool allow_sdist = false;  // for packages that its code asks for
  // How long the session, or one execution of it, waits for installations in total.
  std::chrono::milliseconds install_time{300'000};
  LayerList layers;                   // of packages, model/layer.h
  bool layer_first = false;           // they come before the image's own versions
  std::vector<std::string> packages;  // of its layers: "polars==1.31.0"
};

// What was prepared for a session before it is made, and is of no use afterwards.
struct Prepared {
  std::shared_ptr<const void> layer_hold = {};  // nobody removes its layers before it is known
  std::vector<std::string> notes = {};          // that the session begins with
};

// Names of environment variables are kept, values never: they come back as `lost_env`.
std::string spec_to_json(const SessionSpec& spec);
// What is missing or makes no sense is as it is by default.
SessionSpec spec_from_json(const std::string& json);

// Whether the store knows it.
bool is_stored(const SessionSpec& spec);

// The smallest zygote that covers what the code seems to import. A guess only costs time.
Variant variant_for(const std::string& code);

}  // namespace vitrine::session
