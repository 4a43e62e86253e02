// SPDX-License-Identifier: Apache-2.0
// The events of an execution, shown in a terminal as they come.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "app/commands.h"

namespace vitrine::app {

enum class Show { as_they_come, nothing };

class EventPrinter {
 public:
  explicit EventPrinter(Show show) : show_(show) {}

  void line(std::string_view text);          // one NDJSON line
  bool unheard() const { return unheard_; }  // our output is closed

  // The exit code of the finished execution; nullopt before its last event.
  std::optional<int> exit_code() const;
  bool state_kept() const;
  bool exited() const { return exited_; }  // the code called sys.exit()
  const boost::json::object& execution() const { return execution_; }
  // Instead of an execution: a problem+json, "" if there was none.
  const std::string& problem() const { return problem_; }
  // What an outcome other than a plain exception means, on stderr.
  void explain() const;

 private:
  void put(int fd, std::string_view text);

  Show show_;
  bool exited_ = false;
  bool unheard_ = false;
  boost::json::object execution_;
  std::string problem_;
};

// The fields of a session that `target` asks for. `invalid_argument` for a wrong NAME=VALUE.
Status add_session_fields(const Target& target, boost::json::object& body);

}  // namespace vitrine::app
