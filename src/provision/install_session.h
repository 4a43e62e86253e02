// SPDX-License-Identifier: Apache-2.0
// The sealed session in which uv works for one order, and the jobs it is given there. Whatever happens
// in it comes out as JSON that is checked, or as the error that it means for who asked.
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
#include "provision/package_errors.h"
#include "session/condition.h"
#include "session/registry.h"

namespace vitrine::provision {

namespace asio = boost::asio;
using session::Task;

struct InstallJob {
  std::vector<std::string> requirements = {};
  LayerList layers = {};                // that the session has, and that stay
  std::vector<std::string> pins = {};   // of the layers that the session has
  std::vector<std::string> built = {};  // of those, what was built from source
  bool allow_sdist = false;
  std::string wish = {};  // its key
  std::string environment = {};
};

class InstallSession {
 public:
  InstallSession(asio::any_io_executor executor, session::Registry& registry,
                 const packages::Config& config, IndexAccess& index, InstallJob what)
      : order(std::move(what)),
        changes(std::move(executor)),
        registry_(registry),
        config_(config),
        index_(index) {}

  // Before it is opened: the indexes, as its session is told them. leave() gives back the tickets.
  Task<Status> admit();
  void leave() { pass_.tickets.clear(); }

  enum class Way { none, index };  // out of its session
  Task<Status> open(Way way);
  // Where the index keeps the files of what is asked for; the session may be another one after.
  Task<Status> find_hosts();
  Task<void> close();

  // One job of runtime/vitrine_runtime/installer.py: what it has done, or why not.
  Task<Result<boost::json::object>> ask(boost::json::object job);
  boost::json::object job(const char* action) const;

  // Where it is worked on; null while it is closed.
  const std::shared_ptr<session::Session>& session() const { return session_; }

  const InstallJob order;
  Clock::time_point latest;  // then it is over
  bool abandoned = false;    // nobody waits: no further job is begun
  std::vector<std::string> progress;
  session::Condition changes;  // of the progress, and of what its owner says of it

 private:
  struct Said {
    std::optional<boost::json::object> done;
    std::optional<Error> failed;
  };
  // A line of the installer's.
  void take(const std::string& line, Said& said);

  session::Registry& registry_;
  const packages::Config& config_;
  IndexAccess& index_;
  IndexAccess::Pass pass_;
  std::vector<std::string> hosts_;  // that its session reaches
  std::shared_ptr<session::Session> session_;
  session::Session::Attachment attached_;
};

// A field that is a text; "" if it is none.
std::string text_of(const boost::json::object& in, const char* key);
boost::json::array to_array(const std::vector<std::string>& list);

}  // namespace vitrine::provision
