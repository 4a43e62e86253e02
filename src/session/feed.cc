// SPDX-License-Identifier: Apache-2.0
#include "session/feed.h"

#include <algorithm>

namespace vitrine::session {

namespace {

constexpr std::size_t kMaxKept = 1u << 20;  // bytes

struct BytesOf {
  std::size_t operator()(const OutputEvent& it) const { return it.text.size(); }
  std::size_t operator()(const ResultEvent& it) const {
    std::size_t bytes = it.display_id.size() + it.metadata.size();
    for (const auto& [type, data] : it.data) bytes += type.size() + data.size();
    return bytes;
  }
  std::size_t operator()(const ErrorEvent& it) const {
    return it.error.name.size() + it.error.value.size() + it.error.traceback.size();
  }
  std::size_t operator()(const NoteEvent& it) const { return it.text.size(); }
  std::size_t operator()(const ProgressEvent& it) const { return it.text.size(); }
  std::size_t operator()(const InputEvent& it) const { return it.prompt.size(); }
  std::size_t operator()(const ScreenshotEvent& it) const { return it.png ? it.png->size() : 0; }
  std::size_t operator()(const FrameEvent& it) const {
    return it.frame.png ? it.frame.png->size() : 0;
  }
  std::size_t operator()(const Event& it) const { return std::visit(*this, it); }
  std::size_t operator()(const ExecutionBegun& it) const { return it.code.size(); }
  template <class Fixed>
  std::size_t operator()(const Fixed& /*no bytes of its own*/) const {
    return 0;
  }
};

}  // namespace

void FeedLog::append(std::string execution, FeedItem item) {
  if (!read_ || closed_) return;
  const std::size_t cost = std::visit(BytesOf{}, item) + execution.size() + sizeof(Entry);
  entries_.push_back({std::move(execution), std::move(item), cost});
  cost_ += cost;
  // The newest is kept whatever it weighs.
  while (cost_ > kMaxKept && entries_.size() > 1) {
    cost_ -= entries_.front().cost;
    entries_.pop_front();
    ++dropped_;
  }
  changed_.notify_all();
}

void FeedLog::close() {
  closed_ = true;
  changed_.notify_all();
}

Feed::Feed(std::shared_ptr<FeedLog> log, std::optional<std::uint64_t> after)
    : log_(std::move(log)),
      place_(std::min(after.value_or(log_->end()), log_->end())),
      is_cursor_unknown_(after && *after > log_->end()) {
  log_->read_ = true;
}

boost::asio::awaitable<std::optional<FeedEvent>> Feed::next() {
  if (std::exchange(is_cursor_unknown_, false))
    co_return FeedEvent{.cursor = place_, .execution = "", .item = FeedGap{}};
  while (place_ == log_->end() && !log_->closed_) co_await log_->changed_.wait();
  if (place_ < log_->dropped_) {
    const std::uint64_t missed = log_->dropped_ - place_;
    place_ = log_->dropped_;
    co_return FeedEvent{.cursor = place_, .execution = "", .item = FeedGap{missed}};
  }
  if (place_ == log_->end()) co_return std::nullopt;
  const FeedLog::Entry& entry = log_->entries_[place_ - log_->dropped_];
  ++place_;
  co_return FeedEvent{.cursor = place_, .execution = entry.execution, .item = entry.item};
}

}  // namespace vitrine::session
