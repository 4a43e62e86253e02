// SPDX-License-Identifier: Apache-2.0
#include "session/event_log.h"

#include <algorithm>

namespace vitrine::session {

namespace {

constexpr std::size_t kMaxKept = 20'000;  // events that every reader has seen already
constexpr std::size_t kMaxJoined = 64 * 1024;

}  // namespace

void EventLog::append(Event event, std::size_t bytes) {
  const std::size_t cost = bytes + sizeof(Entry);
  total_cost_ += cost;
  entries_.push_back({std::move(event), cost});
  appended_.notify_all();
}

void EventLog::append_output(Stream stream, std::string text) {
  const std::size_t size = text.size();
  auto* last = end() > foremost_ ? std::get_if<OutputEvent>(&entries_.back().event) : nullptr;
  if (last == nullptr || last->stream != stream || last->text.size() >= kMaxJoined)
    return append(OutputEvent{stream, std::move(text)}, size);
  last->text += text;
  entries_.back().cost += size;
  total_cost_ += size;
  appended_.notify_all();
}

void EventLog::close() {
  closed_ = true;
  appended_.notify_all();
  drained_.notify_all();
}

std::size_t EventLog::unread(const Reader& reader) const {
  return total_cost_ - reader.taken_cost_;
}

std::size_t EventLog::backlog() const {
  std::size_t most = 0;
  for (const Reader* reader : readers_) most = std::max(most, unread(*reader));
  return most;
}

boost::asio::awaitable<void> EventLog::caught_up(std::size_t limit) {
  while (!closed_ && backlog() > limit) co_await drained_.wait();
}

void EventLog::drop_taken() {
  std::size_t slowest = end();
  for (const Reader* reader : readers_) slowest = std::min(slowest, reader->place_);
  if (slowest - dropped_ < kMaxKept) return;
  for (; dropped_ < slowest; ++dropped_) {
    dropped_cost_ += entries_.front().cost;
    entries_.pop_front();
  }
}

EventLog::Reader::Reader(std::shared_ptr<EventLog> log)
    : log_(std::move(log)), place_(log_->dropped_), taken_cost_(log_->dropped_cost_) {
  log_->readers_.push_back(this);
}

EventLog::Reader::~Reader() {
  std::erase(log_->readers_, this);
  log_->drained_.notify_all();
}

boost::asio::awaitable<std::optional<Event>> EventLog::Reader::next() {
  while (place_ == log_->end() && !log_->closed_) co_await log_->appended_.wait();
  if (place_ == log_->end()) co_return std::nullopt;
  const Entry& entry = log_->entries_[place_ - log_->dropped_];
  Event event = entry.event;
  taken_cost_ += entry.cost;
  ++place_;
  log_->foremost_ = std::max(log_->foremost_, place_);
  log_->drop_taken();
  // Not at every event: who waits for us would be woken once for each.
  if (place_ == log_->end()) log_->drained_.notify_all();
  co_return event;
}

}  // namespace vitrine::session
