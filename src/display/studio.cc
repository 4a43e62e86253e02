// SPDX-License-Identifier: Apache-2.0
#include "display/studio.h"

#include <boost/asio/steady_timer.hpp>
#include <list>

namespace vitrine::display {

namespace {

constexpr std::size_t kMostHeld = 256u << 20;

Result<std::string> finish_frame(const Frame& given, const Finish& finish) {
  const Frame* frame = &given;
  Frame made;
  const auto take = [&](Frame next) {
    made = std::move(next);
    frame = &made;
  };
  if (finish.window) take(crop(*frame, *finish.window));
  if (finish.cursor) {
    if (frame != &made) take(Frame(*frame));
    draw_cursor(made, finish.cursor->x, finish.cursor->y);
  }
  if (finish.region) take(crop(*frame, *finish.region));
  if (finish.scale != 1) take(scale(*frame, finish.scale));
  return encode(*frame, finish.format);
}

}  // namespace

// Who waits is told when its time has come, and tells the next.
struct Studio::Rooms {
  struct Waiting {
    std::size_t bytes;
    asio::steady_timer bell;
  };
  std::size_t held = 0;
  std::list<Waiting*> line;

  bool has_room(std::size_t bytes) const { return held == 0 || held + bytes <= kMostHeld; }
  void tell() {
    if (!line.empty() && has_room(line.front()->bytes)) line.front()->bell.cancel();
  }
};

Studio::Room::Room(std::shared_ptr<Rooms> all, std::size_t bytes)
    : all_(std::move(all)), bytes_(bytes) {
  all_->held += bytes_;
}

Studio::Room::~Room() {
  all_->held -= bytes_;
  all_->tell();
}

Task<std::shared_ptr<Studio::Room>> Studio::make_room(std::size_t bytes) {
  if (!rooms_) rooms_ = std::make_shared<Rooms>();
  const std::shared_ptr<Rooms> rooms = rooms_;
  const asio::any_io_executor home = co_await asio::this_coro::executor;
  struct Line {
    std::shared_ptr<Rooms> of;
    Rooms::Waiting me;
    Line(std::shared_ptr<Rooms> all, std::size_t size, const asio::any_io_executor& executor)
        : of(std::move(all)), me{size, asio::steady_timer(executor)} {
      of->line.push_back(&me);
    }
    ~Line() {  // also of who gives up
      of->line.remove(&me);
      of->tell();
    }
  } in_line(rooms, bytes, home);
  while (rooms->line.front() != &in_line.me || !rooms->has_room(bytes)) {
    in_line.me.bell.expires_at(asio::steady_timer::time_point::max());
    boost::system::error_code ignored;
    co_await in_line.me.bell.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  auto room = std::make_shared<Room>(rooms, bytes);
  co_return room;
}

Task<Result<std::string>> Studio::develop(std::shared_ptr<const Frame> frame, Finish finish) {
  auto work = [frame = std::move(frame), finish = std::move(finish)]() mutable {
    Result<std::string> made = finish_frame(*frame, finish);
    frame.reset();  // giving so much memory back takes long, too
    return made;
  };
  return on(pool_, std::move(work));
}

Task<Seen> Studio::look(std::shared_ptr<Framebuffer> screen, Frame frame, Keep keep) {
  const bool large = screen->geometry().bytes() > kLargeLook;
  auto read = [screen = std::move(screen), frame = std::move(frame), keep]() mutable {
    Seen seen;
    const auto began = Seen::Clock::now();
    seen.look = screen->read(frame);
    seen.at = Seen::Clock::now();
    seen.cost = seen.at - began;
    if (keep == Keep::frame) seen.frame = std::move(frame);
    else frame = {};
    return seen;
  };
  if (!large) co_return read();
  co_return co_await aside(std::move(read));
}

Task<Frame> Studio::blank(Geometry geometry) {
  if (geometry.bytes() <= kLargeLook) co_return plain(geometry);
  auto make = [geometry] { return plain(geometry); };
  co_return co_await aside(std::move(make));
}

}  // namespace vitrine::display
