// SPDX-License-Identifier: Apache-2.0
#include "session/network_log.h"

#include <algorithm>
#include <utility>

namespace vitrine::session {

namespace {

// Those that an execution tells, and those that were open before it.
constexpr std::size_t kMaxConnections = kMaxNetworkEntries + wire::kEgressSlots;
constexpr std::size_t kMaxNotes = 8;
constexpr std::uint64_t kAbsurd = 1ull << 40;

}  // namespace

void NetworkLog::grow(Connection& connection, std::uint64_t sent, std::uint64_t received) {
  connection.entry.sent = std::max(connection.entry.sent, sent);
  connection.entry.received = std::max(connection.entry.received, received);
}

void NetworkLog::close_all() {
  for (auto& [number, connection] : connections_) connection.open = false;
}

void NetworkLog::add(const wire::EgressMessage& message) {
  if (const auto* decided = std::get_if<wire::Decided>(&message)) {
    if (connections_.size() >= kMaxConnections || connections_.contains(decided->connection))
      return static_cast<void>(++omitted_);
    connections_[decided->connection] = {
        .entry = decided->entry, .open = decided->entry.decision == NetworkDecision::allowed};
  } else if (const auto* closed = std::get_if<wire::Closed>(&message)) {
    const auto found = connections_.find(closed->connection);
    if (found == connections_.end()) return;
    grow(found->second, closed->sent, closed->received);
    found->second.open = false;
  } else if (const auto* started = std::get_if<wire::ProxyStarted>(&message)) {
    close_all();
    unsaid_ = 0;  // it counts anew
    if (started->starts == 0) return;
    for (auto& [number, connection] : std::exchange(connections_, {}))
      if (!connection.told) ++omitted_;
    if (notes_.size() < kMaxNotes)
      notes_.emplace_back(
          "network_proxy_restarted: the session's network proxy died and was "
          "restarted; its connections were lost: connect again");
  } else {
    close_all();
    if (notes_.size() < kMaxNotes)
      notes_.emplace_back(
          "network_proxy_gone: the session's network proxy died too often and is "
          "not restarted: reset the session to get a network");
  }
}

void NetworkLog::count(std::span<const wire::EgressCounter, wire::kEgressCounters> counters) {
  const auto slots = counters.first<wire::kEgressSlots>();
  for (auto& [number, connection] : connections_) {
    if (!connection.open) continue;
    const auto found = std::ranges::find(slots, number, &wire::EgressCounter::connection);
    if (found == slots.end()) connection.open = false;  // its end was not told
    else grow(connection, found->sent, found->received);
  }
  const std::uint64_t unsaid = std::min(counters.back().sent, kAbsurd);
  if (unsaid > unsaid_) omitted_ += unsaid - unsaid_;
  unsaid_ = std::max(unsaid_, unsaid);
}

NetworkLog::Report NetworkLog::take() {
  Report report{
      .entries = {}, .omitted = std::exchange(omitted_, 0), .notes = std::exchange(notes_, {})};
  for (auto one = connections_.begin(); one != connections_.end();) {
    Connection& connection = one->second;
    NetworkEntry entry = connection.entry;
    entry.sent -= connection.sent_before;
    entry.received -= connection.received_before;
    if (connection.told) entry.reason = "opened by an earlier execution";
    if (!connection.told || entry.sent > 0 || entry.received > 0) {
      if (report.entries.size() < kMaxNetworkEntries) report.entries.push_back(std::move(entry));
      else ++report.omitted;
    }
    connection.told = true;
    connection.sent_before = connection.entry.sent;
    connection.received_before = connection.entry.received;
    one = connection.open ? std::next(one) : connections_.erase(one);
  }
  return report;
}

}  // namespace vitrine::session
