// SPDX-License-Identifier: Apache-2.0
// What the Python of each environment has: asked once, in a sealed session of its own, and kept. Of
// those who want to know the same at once one question is asked, and all wait for its answer.
//
// Ownership: one per front. Threading: the front's one thread. It must outlive its callers.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "packages/names.h"
#include "provision/install_session.h"

namespace vitrine::provision {

class Inventories {
 public:
  Inventories(asio::any_io_executor executor, session::Registry& registry,
              const packages::Config& config, IndexAccess& index)
      : executor_(std::move(executor)), registry_(registry), config_(config), index_(index) {}

  // None once of() has it.
  Task<Status> learn(std::string environment);
  const packages::Inventory& of(const std::string& environment) const {
    return known_.at(environment);
  }
  // Its version; "" before anything was learned.
  const std::string& python() const { return python_; }

 private:
  struct Question {
    Question(asio::any_io_executor executor, std::shared_ptr<InstallSession> where)
        : installation(std::move(where)), changes(std::move(executor)) {}
    std::shared_ptr<InstallSession> installation;
    bool answered = false;
    Status done;
    session::Condition changes;
  };
  Task<void> ask(std::shared_ptr<Question> question);

  asio::any_io_executor executor_;
  session::Registry& registry_;
  const packages::Config& config_;
  IndexAccess& index_;
  std::map<std::string, packages::Inventory> known_;  // by environment
  std::map<std::string, std::shared_ptr<Question>> asked_;
  std::string python_;
};

// From the installer's word, of which everything that is not as it should be is left out.
packages::Inventory read_inventory(const boost::json::object& said);

}  // namespace vitrine::provision
