// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/request_window.h"

#include <utility>

namespace vitrine::keeper {

void RequestWindow::enter(std::function<void()> begin) {
  waiting_.push_back(std::move(begin));
  advance();
}

void RequestWindow::leave() {
  if (begun_ > 0) --begun_;
  advance();
}

void RequestWindow::clear() {
  begun_ = 0;
  advance();
}

void RequestWindow::open() {
  open_ = true;
  advance();
}

void RequestWindow::flush() {
  while (!waiting_.empty()) {
    const std::function<void()> begin = std::move(waiting_.front());
    waiting_.pop_front();
    ++begun_;
    begin();
  }
}

void RequestWindow::advance() {
  if (advancing_) return;
  advancing_ = true;
  while (open_ && begun_ < most_ && !waiting_.empty()) {
    const std::function<void()> begin = std::move(waiting_.front());
    waiting_.pop_front();
    ++begun_;
    begin();
  }
  advancing_ = false;
}

}  // namespace vitrine::keeper
