// SPDX-License-Identifier: Apache-2.0
// The door of one life of a front, for tests of what stands on it: no packages are installed.
#pragma once

#include <string>

#include "service/operations.h"
#include "session/condition.h"
#include "testing/life.h"

namespace vitrine::testing {

struct Door {
  Door(Life& life, const std::string& directory)
      : provisioner(life.front.context.get_executor(), life.registry, life.accounts,
                    life.front.link, without_packages(),
                    std::move(*packages::Layers::open(directory + "/layers"))),
        live(life.front.context.get_executor(), life.registry, provisioner),
        packages(life.registry, provisioner, live),
        operations(life.registry, packages, life.store, life.front.link) {}

  provision::Provisioner provisioner;
  provision::LivePackages live;
  service::Packages packages;
  service::Operations operations;

 private:
  static packages::Config without_packages() {
    packages::Config config;
    config.on = false;
    return config;
  }
};

// A client that stays until it leaves.
class LeavingClient final : public service::Client {
 public:
  explicit LeavingClient(boost::asio::any_io_executor executor) : changes_(std::move(executor)) {}

  service::Task<void> gone() override {
    while (!left_) co_await changes_.wait();
  }
  void leave() {
    left_ = true;
    changes_.notify_all();
  }

 private:
  bool left_ = false;
  session::Condition changes_;
};

}  // namespace vitrine::testing
