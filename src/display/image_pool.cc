// SPDX-License-Identifier: Apache-2.0
#include "display/image_pool.h"

#include <time.h>

#include <list>

#include "backend/clock.h"

namespace vitrine::display {

namespace {

constexpr std::size_t kMaxReserved = 256u << 20;

Result<std::string> transform_and_encode(const Frame& given, const ImageOptions& options) {
  const Frame* frame = &given;
  Frame made;
  const auto take = [&](Frame next) {
    made = std::move(next);
    frame = &made;
  };
  if (options.window) take(crop(*frame, *options.window));
  if (options.cursor) {
    if (frame != &made) take(Frame(*frame));
    draw_cursor(made, options.cursor->x, options.cursor->y);
  }
  if (options.region) take(crop(*frame, *options.region));
  if (options.scale != 1) take(scale(*frame, options.scale));
  return encode(*frame, options.format);
}

// Processor time of this thread.
std::chrono::nanoseconds thread_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

// A queue of waiters. The first is woken when its bytes fit, and wakes the next.
struct ImagePool::MemoryBudget {
  struct Waiting {
    std::size_t bytes;
    Timer wake;
  };
  std::size_t reserved = 0;
  std::list<Waiting*> queue;

  bool fits(std::size_t bytes) const { return reserved == 0 || reserved + bytes <= kMaxReserved; }
  void wake_first() {
    if (!queue.empty() && fits(queue.front()->bytes)) queue.front()->wake.cancel();
  }
};

ImagePool::Reservation::Reservation(std::shared_ptr<MemoryBudget> budget, std::size_t bytes)
    : budget_(std::move(budget)), bytes_(bytes) {
  budget_->reserved += bytes_;
}

ImagePool::Reservation::~Reservation() {
  budget_->reserved -= bytes_;
  budget_->wake_first();
}

Task<std::shared_ptr<ImagePool::Reservation>> ImagePool::reserve(std::size_t bytes) {
  if (!memory_) memory_ = std::make_shared<MemoryBudget>();
  const std::shared_ptr<MemoryBudget> budget = memory_;
  const asio::any_io_executor home = co_await asio::this_coro::executor;
  struct Place {
    std::shared_ptr<MemoryBudget> of;
    MemoryBudget::Waiting me;
    Place(std::shared_ptr<MemoryBudget> all, std::size_t size,
          const asio::any_io_executor& executor)
        : of(std::move(all)), me{size, Timer(executor)} {
      of->queue.push_back(&me);
    }
    ~Place() {  // also when the coroutine is cancelled
      of->queue.remove(&me);
      of->wake_first();
    }
  } place(budget, bytes, home);
  while (budget->queue.front() != &place.me || !budget->fits(bytes)) {
    place.me.wake.expires_at(Timer::time_point::max());
    boost::system::error_code ignored;
    co_await place.me.wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  auto reservation = std::make_shared<Reservation>(budget, bytes);
  co_return reservation;
}

Task<Result<std::string>> ImagePool::encode(std::shared_ptr<const Frame> frame,
                                            ImageOptions options) {
  auto work = [frame = std::move(frame), options = std::move(options)]() mutable {
    Result<std::string> made = transform_and_encode(*frame, options);
    frame.reset();  // freeing that much memory takes long, too
    return made;
  };
  return on(encode_pool_, std::move(work));
}

Task<Snapshot> ImagePool::read_screen(std::shared_ptr<Framebuffer> screen, Frame frame, Keep keep) {
  const bool large = screen->geometry().bytes() > kLargeFrame;
  auto read = [screen = std::move(screen), frame = std::move(frame), keep]() mutable {
    Snapshot snapshot;
    snapshot.began = Clock::now();
    const auto used = thread_time();
    snapshot.digest = screen->read(frame);
    snapshot.cost = thread_time() - used;
    snapshot.at = Clock::now();
    if (keep == Keep::frame) snapshot.frame = std::move(frame);
    else frame = {};
    return snapshot;
  };
  if (!large) co_return read();
  co_return co_await run(std::move(read));
}

Task<Frame> ImagePool::blank(Geometry geometry) {
  if (geometry.bytes() <= kLargeFrame) co_return plain(geometry);
  auto make = [geometry] { return plain(geometry); };
  co_return co_await run(std::move(make));
}

}  // namespace vitrine::display
