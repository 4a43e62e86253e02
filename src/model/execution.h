// SPDX-License-Identifier: Apache-2.0
// One execution: what was asked, and what came of it. The same words as in the API's JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/network.h"
#include "model/session.h"

namespace vitrine {

enum class Outcome : std::uint8_t { ok, exception, policy, interrupted, timeout, oom, crashed };
std::string_view to_string(Outcome outcome);
std::optional<Outcome> outcome_from(std::string_view name);

enum class OnDisconnect : std::uint8_t { interrupt, keep_going };

// Pictures of the screen while code runs.
struct FilmstripOptions {
  std::optional<std::chrono::milliseconds> every;  // none = whenever something has changed
  std::uint32_t most = 20;
};

struct ExecRequest {
  std::string code;
  std::optional<std::string> stdin_text;
  std::map<std::string, std::string> env;
  std::optional<std::chrono::milliseconds> timeout;  // none = the session's
  OnDisconnect on_disconnect = OnDisconnect::interrupt;
  bool interactive = false;  // input() asks the client
  bool capture_screenshot = false;
  std::chrono::milliseconds render_timeout{500};  // for painting, once the code has ended
  std::chrono::milliseconds display_time{3000};   // of a program that keeps painting
  std::size_t screenshot_bytes = 0;               // a larger PNG is made smaller; 0 = any size
  std::optional<FilmstripOptions> strip;
};

using MimeBundle = std::vector<std::pair<std::string, std::string>>;  // type -> bytes

struct ExecError {
  std::string name;
  std::string value;
  std::string traceback;
};

struct Usage {
  double wall_ms = 0;
  double cpu_ms = 0;
  std::uint64_t peak_memory_kb = 0;
};

struct StripFrame {
  std::chrono::milliseconds at{};          // since the execution began
  std::uint64_t out_offset = 0;            // bytes of stdout that had come by then
  std::optional<std::uint32_t> line = {};  // of the code that ran then; the worker's word
  std::shared_ptr<const std::string> png;
};

struct ExecRecord {
  std::string id;
  std::string session;
  std::string code;
  std::string started_at;         // RFC 3339, UTC
  std::string state = "running";  // running, finished
  Policy policy = Policy::native;
  Outcome outcome = Outcome::ok;
  int exit_code = 0;
  std::string out;
  std::string err;
  bool out_truncated = false;
  bool err_truncated = false;
  std::vector<MimeBundle> results;
  std::optional<ExecError> error;
  bool state_kept = true;
  std::vector<std::string> notes;
  bool wants_screenshot = false;
  std::optional<std::string> screenshot = {};  // PNG
  bool wants_frames = false;
  std::vector<StripFrame> frames = {};
  Usage usage;
  std::optional<std::vector<NetworkEntry>> network = {};  // only of sessions that have one
  std::uint64_t network_omitted = 0;                      // entries beyond those
};

// The rule of the language policy that refused it, as its error names it ("import: line 3: ...");
// "other" for anything but a known rule: the error is the worker's word. "" = none did.
std::string_view rule_of(const ExecRecord& record);

// How a dead worker's execution ends (the table of outcomes in docs/outcomes.md).
struct Verdict {
  Outcome outcome = Outcome::crashed;
  int exit_code = 1;
};
Verdict verdict_of(const Death& death);

}  // namespace vitrine
