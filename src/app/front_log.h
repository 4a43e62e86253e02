// SPDX-License-Identifier: Apache-2.0
// The front's log: one line of text per event on stderr, which the keeper keeps.
//
// Ownership: one per front. Threading: the front's one thread.
// Trust:     session code chooses how often most of these lines are written, so they share a budget per
//            second; what exceeds it is counted, and the count is logged.
#pragma once

#include <cstdint>
#include <string>

#include "api/server.h"
#include "session/recordings.h"
#include "session/registry.h"

namespace vitrine::app {

void log_line(const std::string& text);

class FrontLog final : public session::ExecutionObserver {
 public:
  void request_handled(const api::Handled& one) const;
  void ended(session::Execution& execution) override;
  void network_decided(const std::string& session, const NetworkEntry& entry) override;
  // Screenshots that succeed are only counted, by the metrics.
  void screenshot_taken(const session::Pictured& picture) override;
  void display_ended(const std::string& session, const std::string& why) override;
  void recording_changed(const session::Recording& one, std::uint64_t bytes) override;

  // Renews the budget. Call once a second.
  void begin_second();

 private:
  static constexpr std::uint32_t kLinesPerSecond = 200;

  bool may_log();

  std::uint32_t lines_left_ = kLinesPerSecond;
  std::uint64_t lines_dropped_ = 0;
};

}  // namespace vitrine::app
