// SPDX-License-Identifier: Apache-2.0
// The sealed session in which uv works for one order, and the jobs it is given there. Whatever happens
// in it comes out as JSON that is checked, or as the trouble that it means for who asked.
//
// Ownership: shared by those who wait for the order and the coroutine that works on it, which ends it
// with close(). Threading: the front's one thread.
// Trust:     code of packages may run in it (source distributions); all it says is hostile.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/clock.h"
#include "packages/config.h"
#include "provision/index_access.h"
#include "provision/package_trouble.h"
#include "session/changes.h"
#include "session/registry.h"

namespace vitrine::provision {

namespace asio = boost::asio;
using session::Task;

struct WorkOrder {
  std::vector<std::string> requirements = {};
  std::vector<std::string> pins = {};  // of the layer that the session has
  bool allow_sdist = false;
  std::string wish = {};  // its key
  std::string environment = {};
};

class Workshop {
 public:
  Workshop(asio::any_io_executor executor, session::Registry& registry,
           const packages::Config& config, IndexAccess& index, WorkOrder what)
      : order(std::move(what)),
        changes(std::move(executor)),
        registry_(registry),
        config_(config),
        index_(index) {}

  // Before it is opened: the indexes, as its session is told them. leave() gives back the tickets.
  std::optional<PackageTrouble> admit();
  void leave() { pass_.tickets.clear(); }

  enum class Way { none, index };  // out of its session
  Task<std::optional<PackageTrouble>> open(Way way);
  // Where the index keeps the files of what is asked for; the session may be another one after.
  Task<std::optional<PackageTrouble>> find_hosts();
  Task<void> close();

  // One job of runtime/vitrine_runtime/installer.py: what it has done, or why not.
  struct Said {
    boost::json::object done;
    std::optional<PackageTrouble> trouble;
  };
  Task<Said> ask(boost::json::object job);
  boost::json::object job(const char* action) const;

  // Where it is worked on; null while it is closed.
  const std::shared_ptr<session::Session>& session() const { return session_; }

  const WorkOrder order;
  Clock::time_point latest;  // then it is over
  bool abandoned = false;    // nobody waits: no further job is begun
  std::vector<std::string> progress;
  session::Changes changes;  // of the progress, and of what its owner says of it

 private:
  // A line of the installer's: fills `said`; true if the job is done.
  bool take(const std::string& line, Said& said);

  session::Registry& registry_;
  const packages::Config& config_;
  IndexAccess& index_;
  IndexAccess::Pass pass_;
  std::vector<std::string> hosts_;  // that its session reaches
  std::shared_ptr<session::Session> session_;
};

// A field that is a text; "" if it is none.
std::string text_of(const boost::json::object& in, const char* key);
boost::json::array to_array(const std::vector<std::string>& list);

}  // namespace vitrine::provision
