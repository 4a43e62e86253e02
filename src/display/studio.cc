// SPDX-License-Identifier: Apache-2.0
#include "display/studio.h"

#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vitrine::display {

namespace {

constexpr std::size_t kMostHeld = 256u << 20;
constexpr std::chrono::milliseconds kRoomPause{5};

Result<std::string> finish_frame(Frame frame, const Finish& finish) {
  if (finish.cursor) draw_cursor(frame, finish.cursor->x, finish.cursor->y);
  if (finish.region) frame = crop(frame, *finish.region);
  if (finish.scale != 1) frame = scale(frame, finish.scale);
  return encode(frame, finish.format);
}

}  // namespace

Task<std::shared_ptr<Studio::Room>> Studio::make_room(std::size_t bytes) {
  const std::shared_ptr<std::size_t> held = held_;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (*held > 0 && *held + bytes > kMostHeld) {
    timer.expires_after(kRoomPause);
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  co_return std::make_shared<Room>(held, bytes);
}

Task<Result<std::string>> Studio::develop(Frame frame, Finish finish) {
  using boost::system::error_code;
  struct Job {
    Frame frame;
    Finish finish;
    Result<std::string> done = Error{Code::internal, "the picture was not made"};
  };
  auto job = std::make_shared<Job>();
  job->frame = std::move(frame);
  job->finish = std::move(finish);
  const asio::any_io_executor home = co_await asio::this_coro::executor;
  using Bell = asio::experimental::channel<void(error_code)>;
  auto bell = std::make_shared<Bell>(home, 1);
  asio::post(pool_, [job, bell, home] {
    job->done = finish_frame(std::move(job->frame), job->finish);
    asio::post(home, [bell] { bell->try_send(error_code{}); });
  });
  error_code ignored;
  co_await bell->async_receive(asio::redirect_error(asio::use_awaitable, ignored));
  co_return std::move(job->done);
}

}  // namespace vitrine::display
