// SPDX-License-Identifier: Apache-2.0
#include "session/filmstrip.h"

#include <algorithm>

namespace vitrine::session {

using namespace std::chrono_literals;

namespace {

constexpr auto kLook = 20ms;      // between looks for a change
constexpr int kOthersShare = 10;  // a look of 3 ms is followed by 30 ms without one
constexpr auto kAsleep = 250ms;   // while there is no screen; its start wakes us
constexpr auto kSeldom = 1s;
constexpr std::size_t kLargeFrame = 4u << 20;  // bytes: not kept between two looks
constexpr double kLeastScale = 0.1;

}  // namespace

Filmstrip::Filmstrip(boost::asio::any_io_executor executor, display::Screen& screen,
                     std::shared_ptr<display::ImagePool> image_pool, std::uint64_t session,
                     FilmstripOptions wish, StripHooks hooks)
    : screen_(screen),
      image_pool_(std::move(image_pool)),
      session_(session),
      wish_(wish),
      hooks_(std::move(hooks)),
      changes_(std::move(executor)) {}

void Filmstrip::ended() {
  ended_ = true;
  changes_.notify_all();
}

// Each picture has its share of the bytes: it is made smaller until it fits.
Filmstrip::Task<std::shared_ptr<const std::string>> Filmstrip::encode(
    std::shared_ptr<const display::Frame> frame) {
  const std::size_t share = (kMaxStripBytes - bytes_) / (wish_.most - taken_);
  for (double scale = 1; scale >= kLeastScale; scale /= 2) {
    display::ImageOptions finish;
    finish.scale = scale;
    Result<std::string> made = co_await image_pool_->encode(frame, std::move(finish));
    if (!made) co_return nullptr;
    if (made->size() <= share) co_return std::make_shared<const std::string>(std::move(*made));
  }
  co_return nullptr;
}

// False when there is no screen to look at.
Filmstrip::Task<bool> Filmstrip::look() {
  if (!screen_.is_running()) co_return false;
  Result<std::shared_ptr<display::View>> view =
      co_await screen_.open(session_, display::Screen::Start::no);
  if (!view) co_return false;
  if (!read_budget_) read_budget_.emplace(image_pool_);
  // As it is read, and what is made of it.
  const Geometry& size = (*view)->framebuffer.geometry();
  const std::shared_ptr<display::ImagePool::Reservation> room =
      co_await image_pool_->reserve(std::size_t{2} * size.width * size.height * 4);
  std::shared_ptr<display::Framebuffer> screen(*view, &(*view)->framebuffer);
  display::Frame before = std::move(frame_);
  display::Snapshot looked =
      co_await image_pool_->read_screen(std::move(screen), std::move(before));
  const auto frame = std::make_shared<display::Frame>(std::move(looked.frame));
  const auto reuse = [&] {
    if (frame->pixels.size() <= kLargeFrame) frame_ = std::move(*frame);
  };
  const Result<display::FrameDigest>& seen = looked.digest;
  const auto now = looked.at;
  look_time_ = looked.cost;
  if (!seen) co_return false;
  // A screen on which nothing was painted yet is no picture to begin with.
  const bool differs = last_ ? *last_ != seen->hash : !seen->blank;
  if (!differs && (!wish_.every || ended_)) {
    reuse();
    co_return true;
  }
  last_ = seen->hash;
  StripFrame one;
  one.at = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
  one.out_offset = hooks_.written();
  one.line = hooks_.line();
  std::shared_ptr<const std::string> png = co_await encode(frame);
  reuse();
  ++taken_;
  if (!png) co_return true;
  bytes_ += png->size();
  one.png = std::move(png);
  hooks_.add(std::move(one));
  co_return true;
}

Filmstrip::Task<void> Filmstrip::run() {
  Clock::time_point next = begun_;
  for (bool last = false; !last && taken_ < wish_.most;) {
    last = ended_;  // what is there at the end is looked at once more
    const bool seen = co_await look();
    Clock::duration least = look_time_ * kOthersShare;
    if (read_budget_) least = std::max(least, read_budget_->pause_after(look_time_));
    const Clock::duration pause = wish_.every ? Clock::duration(*wish_.every) : kLook;
    next = std::max(next + pause, Clock::now() + std::min(least, pause));
    const bool asleep = !seen && !screen_.is_running();
    Clock::time_point wake = std::max(next, Clock::now() + least);
    if (asleep) wake = Clock::now() + kAsleep;
    if (wake - Clock::now() > kSeldom) read_budget_.reset();  // it takes next to nothing
    while (!ended_ && Clock::now() < wake && !(asleep && screen_.is_running()))
      co_await changes_.wait(wake);
    if (!seen) next = Clock::now();
  }
}

}  // namespace vitrine::session
