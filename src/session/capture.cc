// SPDX-License-Identifier: Apache-2.0
#include "session/capture.h"

#include <algorithm>

namespace vitrine::session {

using namespace std::chrono_literals;

namespace {

constexpr auto kStillAfterPainting = 20ms;
constexpr auto kStillAndIdle = 60ms;  // and the session used hardly any cpu meanwhile
constexpr std::uint64_t kIdleUs = 2000;
constexpr auto kStill = 150ms;            // and at most half a core
constexpr auto kStillThoughBusy = 500ms;  // whatever it uses
constexpr auto kLook = 5ms;               // between looks while the worker waits for us
constexpr auto kLookRunning = 8ms;        // and while it runs
constexpr auto kBrokenScreen = 50ms;      // before another look at one that cannot be read
constexpr auto kFirstAsk = 250ms;
constexpr auto kLastAsk = 4s;
constexpr double kLeastScale = 0.1;

}  // namespace

Capture::Capture(asio::any_io_executor executor, display::Screen& screen,
                 std::shared_ptr<display::ImagePool> image_pool, std::uint64_t session,
                 Geometry geometry, const ExecRequest& request, CaptureHooks hooks)
    : screen_(screen),
      image_pool_(std::move(image_pool)),
      session_(session),
      geometry_(geometry),
      render_time_(request.render_timeout),
      display_time_(request.display_time),
      most_bytes_(request.screenshot_bytes),
      hooks_(std::move(hooks)),
      changes_(std::move(executor)) {}

void Capture::painted() {
  if (painted_at_) return;  // a look for each of them could be asked for without end
  painted_at_ = Clock::now();
  changes_.notify_all();
}

void Capture::ended(Worker worker) {
  if (!ended_) ended_at_ = Clock::now();
  if (!ended_) ended_ = worker;
  changes_.notify_all();
}

Task<void> Capture::find_view() {
  vitrine::Result<std::shared_ptr<display::View>> found =
      co_await screen_.open(session_, display::Screen::Start::no);
  view_ = found ? *found : nullptr;
}

// False if there was nothing to see.
Task<bool> Capture::look() {
  if (!read_budget_) read_budget_.emplace(image_pool_);
  std::shared_ptr<display::Framebuffer> screen(view_, &view_->framebuffer);
  display::Frame before = std::move(frame_);
  display::Snapshot seen = co_await image_pool_->read_screen(std::move(screen), std::move(before));
  frame_ = std::move(seen.frame);
  look_cost_ = seen.cost;
  look_began_ = seen.began;
  const vitrine::Result<display::FrameDigest>& now = seen.digest;
  if (!now) {
    std::string note = "screenshot: " + now.error().message;
    if (notes.empty() || notes.back() != note) notes.push_back(std::move(note));
    view_.reset();
    co_return false;
  }
  const auto time = seen.at;
  if (!seen_ || seen_->hash != now->hash) {
    changed_ = time;
    still_ = window_ = {};
    cpu_at_change_ = cpu_at_window_ = hooks_.cpu_us();
    idle_ = false;
  } else {
    const Clock::duration passed = std::min<Clock::duration>(time - looked_, 2 * pause(looked_));
    still_ += passed;
    window_ += passed;
  }
  looked_ = time;
  seen_ = *now;
  if (!seen_->blank && !first_painted_) first_painted_ = time;
  co_return true;
}

bool Capture::is_good_after_painting(Clock::time_point now) const {
  if (now - *painted_at_ >= render_time_) return true;
  return !seen_->blank && now - std::max(changed_, *painted_at_) >= kStillAfterPainting;
}

bool Capture::is_still() {
  if (window_ >= kStillAndIdle) {
    const std::uint64_t cpu = hooks_.cpu_us();
    idle_ = cpu_at_window_ != 0 && cpu - cpu_at_window_ < kIdleUs;
    window_ = {};
    cpu_at_window_ = cpu;
  }
  if (idle_ || still_ >= kStillThoughBusy) return true;
  if (still_ < kStill) return false;
  // Code that computes may be about to paint.
  const std::chrono::microseconds used(hooks_.cpu_us() - cpu_at_change_);
  return used < still_ / 2;
}

void Capture::judge_running(Clock::time_point now) {
  if (seen_->blank) return;
  const bool still = is_still();
  const bool enough = now - *first_painted_ >= display_time_;
  if (!still && !enough) return;
  if (asked_ != Clock::time_point{} && now - asked_ < ask_pause_) return;
  if (!kept_ || kept_->look.hash != seen_->hash) {
    display::Frame old = kept_ ? std::move(kept_->frame) : display::Frame{};
    kept_ = Kept{std::move(frame_), *seen_};
    frame_ = std::move(old);  // to read the next into
    ask_pause_ = kFirstAsk;
  } else {
    ask_pause_ = std::min<Clock::duration>(ask_pause_ * 2, kLastAsk);
  }
  asked_ = now;
  hooks_.end_loop(still ? wire::Screen::still : wire::Screen::painting);
}

Clock::duration Capture::pause(Clock::time_point now) const {
  const auto least =
      read_budget_ ? read_budget_->pause_after(look_cost_) : display::least_pause(look_cost_);
  if (painted_at_) return std::max<Clock::duration>(kLook, least);
  // A screen on which nothing has happened for long is looked at less often.
  const auto unchanged = now - changed_;
  return std::max(std::clamp<Clock::duration>(unchanged / 32, kLookRunning, 50ms), least);
}

Task<void> Capture::run() {
  co_await find_view();
  // A worker that painted and could not wait for us left its windows as they are.
  const auto is_over = [this] { return ended_ && !(painted_at_ && *ended_ == Worker::alive); };
  while (!is_over()) {
    if (view_ && !screen_.is_running()) view_.reset();  // it died
    if (!view_) read_budget_.reset();
    if (!view_ && screen_.is_running()) co_await find_view();
    if (is_over()) break;
    if (!view_) {
      if (painted_at_) break;  // no display: nothing will be painted
      co_await changes_.wait();
      continue;
    }
    const bool looked = co_await look();
    if (is_over()) break;  // while it looked: what follows would reach the next execution
    if (!looked) {
      co_await changes_.wait(Clock::now() + kBrokenScreen);
      continue;
    }
    const auto now = Clock::now();
    // A look that began before the last was painted may have missed it.
    const bool after = painted_at_ && *painted_at_ <= look_began_;
    if (after && is_good_after_painting(now)) {
      kept_ = Kept{std::move(frame_), *seen_};
      break;
    }
    if (!painted_at_) judge_running(now);
    co_await changes_.wait(now + pause(now));
  }
  const auto wished = painted_at_ ? *painted_at_ : ended_ ? ended_at_ : Clock::now();
  if (painted_at_ && !ended_) hooks_.captured();
  if (!kept_ && ended_ == Worker::alive && view_ && screen_.is_running()) (void)co_await look();
  read_budget_.reset();
  if (!kept_ && seen_) kept_ = Kept{std::move(frame_), *seen_};
  if (!kept_ && ended_ == Worker::dead && screen_.is_running()) {
    notes.emplace_back("screenshot: none was taken before the session died");
    co_return;
  }
  const bool blank = !kept_ || kept_->look.blank;
  if (blank) co_await explain_blank();
  display::Frame frame;
  if (kept_) frame = std::move(kept_->frame);
  else frame = co_await image_pool_->blank(geometry_);
  vitrine::Result<std::string> made = co_await encode(std::move(frame));
  latency = Clock::now() - wished;
  if (!made) {
    notes.push_back("screenshot: " + made.error().message);
    co_return;
  }
  png = std::move(*made);
  result = blank ? Result::blank : Result::ok;
}

Task<vitrine::Result<std::string>> Capture::encode(display::Frame frame) {
  display::ImageOptions finish;
  auto shared = std::make_shared<const display::Frame>(std::move(frame));
  if (most_bytes_ == 0) co_return co_await image_pool_->encode(std::move(shared), finish);
  for (;; finish.scale /= 2) {
    vitrine::Result<std::string> made = co_await image_pool_->encode(shared, finish);
    if (!made || made->size() <= most_bytes_ || finish.scale < kLeastScale) co_return made;
    if (finish.scale == 1) notes.emplace_back("screenshot: scaled down to fit into the response");
  }
}

Task<void> Capture::explain_blank() {
  std::string why = "no window was opened";
  if (view_ && screen_.is_running()) {
    auto listed = co_await display::list_windows(view_);
    if (listed) {
      bool any = false;
      bool mapped = false;
      for (const wire::screen::Window& window : listed->windows) {
        any = any || !window.override_redirect;
        mapped = mapped || window.mapped;
      }
      if (mapped) why = "a window is mapped, but nothing is painted in it";
      else if (any) why = "a window exists, but it is not mapped";
    }
  }
  notes.push_back("screenshot: the display is blank: " + why);
}

}  // namespace vitrine::session
