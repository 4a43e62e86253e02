// SPDX-License-Identifier: Apache-2.0
#include "provision/index_access.h"

#include <boost/algorithm/string/replace.hpp>
#include <optional>

#include "model/network.h"

namespace vitrine::provision {

namespace {

constexpr std::size_t kMaxKnownHosts = 32;  // of all wishes

}  // namespace

std::vector<std::string> IndexAccess::urls() const {
  std::vector<std::string> all;
  if (config_.index_url == "none") return all;
  all.push_back(config_.index_url.empty() ? default_index_ : config_.index_url);
  all.insert(all.end(), config_.extra_index_urls.begin(), config_.extra_index_urls.end());
  return all;
}

boost::asio::awaitable<Result<IndexAccess::Pass>> IndexAccess::admit() {
  Pass pass{.urls = urls(), .index_for = {}, .tickets = {}};
  if (!pass.urls.empty()) pass.index_for = config_.index_for;
  std::vector<std::string*> all;
  for (std::string& url : pass.urls) all.push_back(&url);
  for (auto& [name, url] : pass.index_for) all.push_back(&url);
  for (std::string* url : all) {
    const auto secret = config_.secrets.find(*url);
    if (secret == config_.secrets.end()) continue;
    Result<std::shared_ptr<const GatewayLink::Ticket>> ticket =
        co_await gateway_.admit(secret->second);
    if (!ticket) co_return std::move(ticket.error());
    *url = (*ticket)->url();
    pass.tickets.push_back(std::move(*ticket));
  }
  co_return pass;
}

std::string IndexAccess::without_gate(std::string text) const {
  if (gateway_.port() == 0 || config_.secrets.empty()) return text;
  const std::string here = "http://127.0.0.1:" + std::to_string(gateway_.port());
  const std::string there = config_.secrets.begin()->second.origin();
  boost::algorithm::replace_all(text, here, there);
  return text;
}

std::vector<std::string> IndexAccess::hosts() const {
  std::vector<std::string> hosts;
  std::vector<std::string> all = urls();
  if (!all.empty())
    for (const auto& [name, url] : config_.index_for) all.push_back(url);
  for (const std::string& url : all)
    if (std::optional<IndexUrl> index = parse_index_url(url);
        index && !config_.secrets.contains(url))
      hosts.push_back(index->authority());
  if (config_.index_url != "none")
    hosts.insert(hosts.end(), config_.index_hosts.begin(), config_.index_hosts.end());
  std::erase_if(hosts, [](const std::string& host) { return !parse_network_rule(host); });
  return hosts;
}

// What a package needs often lies where others were found.
void IndexAccess::remember(const std::set<std::string>& hosts) {
  std::erase_if(found_, [&](const std::string& host) { return hosts.contains(host); });
  found_.insert(found_.begin(), hosts.begin(), hosts.end());
  if (found_.size() > kMaxKnownHosts) found_.resize(kMaxKnownHosts);
}

}  // namespace vitrine::provision
