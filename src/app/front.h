// SPDX-License-Identifier: Apache-2.0
// The front: everything that serves HTTP for one keeper, wired together. It holds no privilege and no
// state that the store or the keeper does not have too: killed at any moment, the next one goes on.
//
// Ownership: main builds one and runs its io_context; a test can build one on a socket pair.
// Threading: the one thread that runs the io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <optional>
#include <string>

#include "api/metrics.h"
#include "api/openenv/routes.h"
#include "api/server.h"
#include "api/tenant_routes.h"
#include "app/front_log.h"
#include "app/front_options.h"
#include "base/fd.h"
#include "service/files.h"
#include "service/operations.h"
#include "service/screens.h"
#include "service/screenshots.h"
#include "session/history.h"

namespace vitrine::app {

inline constexpr int kRefused = 2;  // exit status: the settings are wrong, no use in trying again

// What the keeper gives a front.
struct FrontFds {
  Fd control;   // the control socket
  Fd listener;  // bound and listening
  Fd ready;     // one byte is written when requests are accepted
};

// What is read before a front can begin.
struct FrontParts {
  store::Store store;
  std::string rules;  // of rewards; "" = none
  packages::Config packages;
  packages::Layers layers;
};

class Front {
 public:
  Front(boost::asio::io_context& context, FrontOptions options, FrontFds fds, FrontParts parts);

  // Takes the listening socket and spawns everything else. Fails if a setting is wrong.
  Status start();
  int exit_code() const { return exit_code_; }

 private:
  api::Task<void> run();
  api::Task<void> tend();
  api::Task<void> change_tokens();
  Status read_tokens_again();
  void add_routes(std::uint64_t capacity);
  api::Task<void> drain();
  std::string package_metrics();

  boost::asio::io_context& context_;
  boost::asio::signal_set hangup_{context_,
                                  SIGHUP};  // from the beginning: the keeper may send one early
  FrontOptions options_;
  Fd listener_;
  Fd ready_;
  store::Store store_;
  backend::KeeperLink keeper_;
  session::Accounts accounts_;
  session::PackageQuestions package_questions_{context_.get_executor()};
  std::shared_ptr<display::ImagePool> image_pool_ = std::make_shared<display::ImagePool>();
  // Who keeps account of what happens. The history is first: it names an execution.
  session::History history_;
  api::Metrics metrics_;
  FrontLog log_;
  session::Observers watchers_{{&metrics_, &log_}};
  session::Recordings recordings_;
  session::Observers observers_{{&history_, &metrics_, &log_, &recordings_}};
  session::Registry registry_;
  provision::Provisioner provisioner_;
  provision::LivePackages live_packages_;
  // The door.
  service::Packages packages_{registry_, provisioner_, live_packages_};
  service::Operations operations_{registry_, packages_, store_, keeper_};
  service::FileOperations files_{keeper_};
  service::Screens screens_{registry_, recordings_};
  service::Screenshots screenshots_{registry_, image_pool_, observers_};
  // The protocols.
  api::openenv::Judge judge_;
  api::Router router_;
  std::optional<api::TenantRoutes> per_identity_;
  std::optional<api::Server> server_;
  int exit_code_ = 0;
};

}  // namespace vitrine::app
