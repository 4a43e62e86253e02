// SPDX-License-Identifier: Apache-2.0
// The operator's indexes as installations may use them: their URLs, the hosts that a session of theirs
// reaches, and a gateway for those that want credentials. No session sees credentials: in the place of
// such an index it is told of the gateway, with a ticket that is good while the installation lasts.
//
// Ownership: one per front; the config and the keeper link must outlive it.
// Threading: the front's one thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "packages/config.h"
#include "provision/gateway_link.h"

namespace vitrine::provision {

class IndexAccess {
 public:
  IndexAccess(boost::asio::any_io_executor executor, backend::KeeperLink& keeper,
              const packages::Config& config)
      : config_(config), gateway_(std::move(executor), keeper, config.certificates) {}

  // What the image's own pip uses, for an operator who named none.
  void set_default(std::string url) { default_index_ = std::move(url); }

  // In order, as a session is told them; none where there is no index.
  struct Pass {
    std::vector<std::string> urls;
    std::map<std::string, std::string> index_for;  // by the name of a package: its own index
    std::vector<std::shared_ptr<const GatewayLink::Ticket>> tickets;
  };
  // Starts the gateway if it is needed, and fails as GatewayLink::admit() does.
  boost::asio::awaitable<Result<Pass>> admit();

  // Of the indexes themselves, but for those behind the gateway.
  std::vector<std::string> hosts() const;
  // Where the pages of an index led installations to, the newest first.
  const std::vector<std::string>& found() const { return found_; }
  void remember(const std::set<std::string>& hosts);

  std::uint16_t gate_port() const { return gateway_.port(); }
  // As the operator calls the index, and not as the installer does.
  std::string without_gate(std::string text) const;

 private:
  std::vector<std::string> urls() const;

  const packages::Config& config_;
  GatewayLink gateway_;
  std::string default_index_;
  std::vector<std::string> found_;
};

}  // namespace vitrine::provision
