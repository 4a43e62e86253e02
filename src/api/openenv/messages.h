// SPDX-License-Identifier: Apache-2.0
// OpenEnv's words: what its clients send, and what they expect back, byte for byte where they look.
//
// Pure functions of values. Trust: everything read here was chosen by a client.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/session.h"

namespace vitrine::api::openenv {

namespace json = boost::json;

// One item of a 422 answer or of a VALIDATION_ERROR.
struct Mistake {
  std::string type;
  json::array where;
  std::string message;
  json::value input = {};
  json::object context = {};
};
using Mistakes = std::vector<Mistake>;
// Only the first few, and of what was sent only so much as tells it apart.
json::array to_json(const Mistakes& mistakes);

// The beginning of something that a client sent, for a message.
std::string brief(std::string_view text);

// What `metadata` of an observation is to hold.
struct ObservationOptions {
  bool screenshot = false;
  bool results = false;  // as the native API shows them
  bool usage = false;
};

struct Action {
  std::string code;
  bool capture_screenshot = false;  // asked for beside `code`: answered there
  ObservationOptions wishes;        // of the action's own `metadata`
  std::optional<double> render_timeout;
  std::optional<double> timeout_s;
};
std::variant<Action, Mistakes> read_action(const json::object& object);

struct Reset {
  std::optional<std::uint64_t> seed;
  std::optional<std::string> episode;
  std::optional<Policy> policy;           // `executor_backend`
  ObservationOptions wishes;              // of every step
  std::vector<std::string> imports = {};  // modules, or requirement strings
  bool allow_sdist = false;
  std::string environment = {};         // of the image; "" = the plain one
  std::vector<std::string> notes = {};  // about them, where the session is made later

  // Whether a session that nobody has used yet, and that was made for nobody in particular, will do.
  bool is_plain() const {
    return !seed && !policy && imports.empty() && !allow_sdist && environment.empty();
  }
};
// `prefix`: where the object stands in what was sent, for the mistakes' places.
std::variant<Reset, Mistakes> read_reset(const json::object& object, const json::array& prefix);

struct Step {
  Action action;
  std::optional<double> timeout_s;  // the client gives up after it
};
std::variant<Step, Mistakes> read_step(const json::object& body);

struct Observation {
  std::string out;
  std::string err;
  int exit_code = 0;
  std::optional<double> reward = 0.0;
  bool has_screenshot = false;  // the key is there
  std::string screenshot = {};  // base64; "" = none, and metadata say why
  json::object metadata = {};   // left out when empty
};
// {"observation": ..., "reward": ..., "done": false}, below a megabyte: clients of the first
// WebSocket generation close at that.
std::string to_json(Observation observation);

struct State {
  std::optional<std::string> episode;
  std::uint64_t steps = 0;
  int last_exit_code = 0;
};
std::string to_json(const State& state);

std::string metadata_json(const char* name);
std::string schema_json();

}  // namespace vitrine::api::openenv
