// SPDX-License-Identifier: Apache-2.0
#include "app/front_log.h"

#include <unistd.h>

#include <boost/json.hpp>

#include "session/ids_and_time.h"

namespace vitrine::app {

namespace json = boost::json;

namespace {

std::string quoted(const std::string& text) { return json::serialize(json::string(text)); }

}  // namespace

void log_line(const std::string& text) {
  const std::string line = session::now_rfc3339() + " " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

bool FrontLog::may_log() {
  if (lines_left_ > 0) return lines_left_-- > 0;
  ++lines_dropped_;
  return false;
}

void FrontLog::begin_second() {
  if (lines_dropped_ > 0)
    log_line("warning front: lines about sessions not logged, above the rate limit: " +
             std::to_string(std::exchange(lines_dropped_, 0)));
  lines_left_ = kLinesPerSecond;
}

void FrontLog::request_handled(const api::Handled& one) const {
  if (one.status < 500) return;
  log_line("error front: " + std::string(one.route) + " answered " + std::to_string(one.status) +
           " session=" + std::string(one.session) + " execution=" + std::string(one.execution));
}

void FrontLog::ended(session::Execution& execution) {
  const ExecRecord& record = execution.record;
  if (record.outcome == Outcome::ok || record.outcome == Outcome::exception) return;
  log_line("info front: execution ended session=" + record.session + " execution=" + record.id +
           " policy=" + std::string(to_string(record.policy)) +
           " outcome=" + std::string(to_string(record.outcome)) +
           (record.outcome == Outcome::policy ? " rule=" + std::string(rule_of(record)) : ""));
}

void FrontLog::network_decided(const std::string& session, const NetworkEntry& entry) {
  if (!may_log()) return;
  log_line("info front: network session=" + session + " host=" + quoted(entry.host) + " port=" +
           std::to_string(entry.port) + " decision=" + std::string(to_string(entry.decision)) +
           " address=" + (entry.address.empty() ? "none" : entry.address) +
           " reason=" + quoted(entry.reason));
}

void FrontLog::screenshot_taken(const session::Pictured& picture) {
  if (picture.result != session::PictureResult::failed || !may_log()) return;
  log_line("warning front: screenshot failed session=" + picture.session +
           " execution=" + (picture.execution.empty() ? "none" : picture.execution) +
           " seconds=" + std::to_string(std::chrono::duration<double>(picture.latency).count()) +
           " reason=" + quoted(picture.why));
}

void FrontLog::display_ended(const std::string& session, const std::string& why) {
  if (why.empty() || !may_log()) return;
  log_line("info front: display ended session=" + session + " reason=" + quoted(why));
}

void FrontLog::recording_changed(const session::Recording& one, std::uint64_t bytes) {
  if (!may_log()) return;
  const std::string whose = " session=" + one.session + " recording=" + one.id;
  if (one.is_running())
    return log_line("info front: recording began" + whose +
                    " format=" + std::string(wire::encoder::to_string(one.wish.format)) +
                    " fps=" + std::to_string(one.fps));
  log_line("info front: recording ended" + whose + " reason=" + one.reason +
           " frames=" + std::to_string(one.progress.frames) +
           " seconds=" + std::to_string(one.progress.milliseconds / 1000) +
           " bytes=" + std::to_string(bytes) + " detail=" + quoted(one.detail));
}

}  // namespace vitrine::app
