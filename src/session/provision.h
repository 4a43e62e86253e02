// SPDX-License-Identifier: Apache-2.0
// From what a client wants to import to a package layer that its session gets.
//
// Names become requirements (packages/names.h); the same wish finds its layer again without asking
// anybody; else uv resolves and unpacks it in a sealed session of its own, whose only way out is the
// index, and the tree is copied out as data. Of equal wishes one is worked on, and all wait for it; when
// nobody waits any more it is given up. Whatever fails leaves no part of a layer.
// Ownership: one per front. Threading: the front's one thread. It must outlive its callers.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "packages/config.h"
#include "packages/gateway.h"
#include "packages/layers.h"
#include "packages/names.h"
#include "session/changes.h"
#include "session/registry.h"
#include "session/turns.h"

namespace vitrine::session {

struct PackageWish {
  std::vector<std::string> packages;  // requirement strings
  std::vector<std::string> imports;   // module names
  bool allow_sdist = false;
  std::string layer = {};        // that the session has already: its versions stay
  std::string environment = {};  // of the session
  std::string owner = {};        // whose quota an installation counts for

  bool empty() const { return packages.empty() && imports.empty(); }
};

// Why there are no packages. `code` is one of docs/packages.md.
struct PackageTrouble {
  std::string code;
  std::string detail;
  std::string remedy;
  int status = 422;
  int retry_after_s = 0;  // 0 = waiting does not help
};

struct Provided {
  std::optional<PackageTrouble> trouble = {};
  std::string layer = {};  // "" = the image has all of it
  bool shadows = false;    // the layer comes before the image: the session must be a bare one
  packages::Layers::Hold hold = {};  // keep it until the session has the layer
  std::vector<std::string> notes = {};
  std::vector<std::string> modules = {};  // the imports, corrected
};

// Modules and requirement strings as ADDITIONAL_IMPORTS and OpenEnv's clients mix them.
void add_imports(const std::vector<std::string>& names, SessionSpec& spec);

class Provisioner {
 public:
  using Progress = std::function<void(const std::string& text)>;

  Provisioner(asio::any_io_executor executor, Registry& registry, packages::Config config,
              packages::Layers layers);

  ~Provisioner();
  Provisioner(const Provisioner&) = delete;
  Provisioner& operator=(const Provisioner&) = delete;

  Task<Provided> provide(PackageWish wish, Progress progress);
  // The right to add to a session, held until the layer is there: each covers the one before.
  class Turn;
  // For a session that lives: beside what it has when its turn comes.
  Task<Provided> provide_for(std::shared_ptr<Session> session, PackageWish wish, Progress progress,
                             std::shared_ptr<Turn>* turn);
  // For callers that can wait only so long, and show nothing meanwhile: `unavailable` while it goes on.
  Task<Status> provide_in_time(SessionSpec* spec, std::chrono::milliseconds patience);
  // Answers a worker that asks for packages while its code runs: {"packages": [...]} or, when it
  // has them, {"added": [...]}, or {"code", "detail", "remedy"}. A newer question of the same execution
  // takes the place of the one that it did not wait for; what has ended is not waited for either.
  Task<void> answer(std::shared_ptr<Session> session, std::shared_ptr<Execution> execution,
                    std::string wish);
  // Puts what was provided into the spec of a session that is to be made.
  static void apply(const Provided& provided, SessionSpec& spec);

  const packages::Config& config() const { return config_; }
  packages::Layers& layers() { return layers_; }
  // Removes what no session uses until `budget` is kept; how many.
  std::size_t prune(std::uint64_t budget);
  std::uint64_t installations() const { return installations_; }

 private:
  struct Flight {
    explicit Flight(asio::any_io_executor executor) : changes(std::move(executor)) {}
    std::vector<std::string> requirements;
    std::vector<std::string> pins;   // of the layer that the session has
    std::vector<std::string> hosts;  // that its own session reaches
    bool allow_sdist = false;
    std::string wish;  // its key
    std::string environment;
    std::string owner;
    Turns::Ticket turn;  // of those that install at once
    std::vector<std::shared_ptr<const packages::Gateway::Ticket>> tickets;  // while it lasts
    std::vector<std::string> urls;  // of the indexes, as its session is told them
    std::vector<std::string> progress;
    std::optional<Provided> result;
    std::shared_ptr<Session> session;  // where it is worked on
    std::chrono::steady_clock::time_point latest;
    int waiting = 0;
    bool abandoned = false;
    bool orphaned = false;  // the provisioner is gone: the server ends
    Changes changes;
  };

  // What waits for a live session; it may outlive the provisioner when the server ends.
  struct Asked {
    explicit Asked(asio::any_io_executor executor) : changes(std::move(executor)) {}
    std::optional<std::string> newest;
    Changes changes;
  };
  struct Live {
    explicit Live(asio::any_io_executor executor) : changes(std::move(executor)) {}
    std::set<std::string> adding;  // sessions whose turn somebody has
    std::map<std::shared_ptr<Execution>, std::shared_ptr<Asked>> questions;
    bool orphaned = false;
    Changes changes;
  };

  // None if the execution ended, or asked for something else, before it was there.
  Task<std::optional<Provided>> provided_while_asked(std::shared_ptr<Session> session,
                                                     std::shared_ptr<Execution> execution,
                                                     std::shared_ptr<Asked> asked, PackageWish wish,
                                                     std::shared_ptr<Turn>* turn);
  Task<std::optional<PackageTrouble>> read_names(const PackageWish& wish, Provided& out,
                                                 std::vector<std::string>& requirements);
  Task<std::optional<PackageTrouble>> know_image(std::string environment);
  Task<void> fly(std::string key, std::shared_ptr<Flight> flight);
  Task<Provided> install(std::shared_ptr<Flight> flight);
  Task<Provided> install_in(std::shared_ptr<Flight> flight);
  enum class Way { none, index };  // out of the installer's session
  Task<std::optional<PackageTrouble>> open(std::shared_ptr<Flight> flight, Way way);
  // Where the index keeps the files of what is asked for; the session may be another one after.
  Task<std::optional<PackageTrouble>> find_hosts(std::shared_ptr<Flight> flight);
  // The operator's indexes in order; empty where there are none.
  std::vector<std::string> indexes() const;
  std::vector<std::string> index_hosts() const;
  std::optional<PackageTrouble> admit(Flight& flight);
  std::string without_gate(std::string text) const;
  Task<void> close(std::shared_ptr<Flight> flight);
  Task<Provided> fill_layer(std::shared_ptr<Flight> flight, packages::Layer layer);
  // One job of runtime/vitrine_runtime/installer.py: what it has done, or why not.
  struct Said {
    boost::json::object done;
    std::optional<PackageTrouble> trouble;
  };
  Task<Said> ask(std::shared_ptr<Flight> flight, boost::json::object job);
  boost::json::object job(const char* action, const Flight& flight) const;
  std::string wish_key(const std::vector<std::string>& requirements, const PackageWish& wish) const;
  std::optional<PackageTrouble> forbidden(const std::string& name) const;

  asio::any_io_executor executor_;
  Registry& registry_;
  packages::Config config_;
  packages::Layers layers_;
  packages::Gateway gateway_;
  std::map<std::string, packages::Inventory> inventories_;  // by environment
  std::string python_;
  std::string default_index_;
  std::vector<std::string> hosts_;  // where the index keeps its files
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;
  std::shared_ptr<Live> live_;
  Turns turns_;
  Changes landed_;  // turns may have changed
  std::uint64_t installations_ = 0;
};

}  // namespace vitrine::session
