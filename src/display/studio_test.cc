// SPDX-License-Identifier: Apache-2.0
#include "display/studio.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <stdexcept>
#include <thread>

namespace vitrine::display {

namespace {

constexpr Geometry kLarge{4096, 4096};
constexpr Geometry kSmall{64, 100};
constexpr std::size_t kHalf = 128u << 20;  // of all the room there is

std::shared_ptr<Framebuffer> screen_of(const Geometry& geometry) {
  Fd file(::memfd_create("framebuffer", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(kPixelsOffset + geometry.bytes())), 0);
  const std::uint32_t red = 0xFF0000;
  EXPECT_EQ(::pwrite(file.get(), &red, 4, kPixelsOffset), 4);
  return std::make_shared<Framebuffer>(std::move(file), geometry);
}

class StudioTest : public testing::Test {
 protected:
  // `task` is of a lambda that lives until it is done.
  void start(Task<void> task) {
    ++running_;
    asio::co_spawn(io_, std::move(task), [this](std::exception_ptr failed) {
      --running_;
      EXPECT_FALSE(failed);
    });
  }
  void run() {  // what waits for another thread keeps nothing in the io_context
    while (running_ > 0) {
      io_.restart();
      io_.run_one_for(std::chrono::seconds(10));
    }
  }
  void run_ready() {
    io_.restart();
    io_.poll();
  }

  asio::io_context io_{1};
  std::shared_ptr<Studio> studio_ = std::make_shared<Studio>();
  int running_ = 0;
};

TEST_F(StudioTest, LooksAtALargeScreenWhileItsThreadServesOthers) {
  bool looking = false;
  int served = 0;
  const auto look = [&]() -> Task<void> {
    Frame fresh;
    looking = true;
    const Seen seen = co_await studio_->look(screen_of(kLarge), std::move(fresh));
    looking = false;
    EXPECT_TRUE(seen.look && !seen.look->blank);
    EXPECT_EQ(seen.frame.row(0)[2], 0xFF);
    EXPECT_GT(seen.cost.count(), 0);
  };
  start(look());
  const auto serve = [&]() -> Task<void> {
    while (running_ > 1) {
      if (looking) ++served;
      co_await asio::post(asio::use_awaitable);
    }
  };
  start(serve());

  run();

  EXPECT_GT(served, 0);
}

TEST_F(StudioTest, LooksAtASmallScreenAtOnce) {
  bool seen = false;
  const auto look = [&]() -> Task<void> {
    Frame fresh;
    seen = static_cast<bool>((co_await studio_->look(screen_of(kSmall), std::move(fresh))).look);
  };
  start(look());

  run_ready();

  EXPECT_TRUE(seen);
}

TEST_F(StudioTest, WorksAsideAndComesBack) {
  const auto home = std::this_thread::get_id();
  const auto work = [&]() -> Task<void> {
    auto where = [] { return std::this_thread::get_id(); };
    const std::thread::id there = co_await studio_->aside(where);
    EXPECT_NE(there, home);
    EXPECT_EQ(std::this_thread::get_id(), home);
    auto fail = []() -> int { throw std::runtime_error("on purpose"); };
    bool caught = false;
    try {
      (void)co_await studio_->aside(fail);
    } catch (const std::runtime_error&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
  };
  start(work());

  run();
}

TEST_F(StudioTest, LetsGoOnItsThreadWhatNobodyWaitsForAnyMore) {
  struct Lent {
    explicit Lent(std::thread::id* of) : gone(of) {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() { *gone = std::this_thread::get_id(); }
    std::thread::id* gone;
  };
  std::thread::id gone;
  {
    asio::io_context short_lived{1};
    auto work = [lent = std::make_shared<Lent>(&gone)] { return lent->gone != nullptr; };
    asio::co_spawn(
        short_lived,
        [](std::shared_ptr<Studio> studio, auto what) -> Task<void> {
          (void)co_await studio->aside(std::move(what));
        }(studio_, std::move(work)),
        [](std::exception_ptr) {});
    short_lived.poll();  // lent, and not waited for
    studio_.reset();     // joins its threads, once the coroutine lets it go
  }

  EXPECT_EQ(gone, std::this_thread::get_id());
}

TEST_F(StudioTest, DevelopsAFrameThatIsKept) {
  const auto frame = std::make_shared<const Frame>(plain(kSmall, 0x336699));
  const auto make = [&]() -> Task<void> {
    Finish half;
    half.window = Region{0, 0, 32, 50};
    half.scale = 0.5;
    Result<std::string> made = co_await studio_->develop(frame, half);
    EXPECT_TRUE(made && made->size() > 24);
    EXPECT_EQ(made->substr(16, 8), std::string("\0\0\0\x10\0\0\0\x19", 8)) << "16 x 25";
    EXPECT_EQ(frame->width, kSmall.width);
  };
  start(make());

  run();
}

TEST_F(StudioTest, MakesRoomWhenSomeIsLeftAndNotBefore) {
  std::shared_ptr<Studio::Room> first;
  std::shared_ptr<Studio::Room> second;
  std::string order;
  const auto take = [&](std::size_t bytes, std::shared_ptr<Studio::Room>& into,
                        char name) -> Task<void> {
    into = co_await studio_->make_room(bytes);
    order += name;
  };
  std::shared_ptr<Studio::Room> third;
  start(take(kHalf, first, 'a'));
  start(take(kHalf + 1, second, 'b'));
  start(take(1, third, 'c'));

  run_ready();
  EXPECT_EQ(order, "a") << "one that would fit does not pass one that was first";
  first.reset();
  run_ready();

  EXPECT_EQ(order, "abc");
}

TEST_F(StudioTest, MakesRoomForOneThatIsLargerThanAllWhenNobodyHasAny) {
  std::shared_ptr<Studio::Room> small;
  std::shared_ptr<Studio::Room> huge;
  const auto take = [&](std::size_t bytes, std::shared_ptr<Studio::Room>& into) -> Task<void> {
    into = co_await studio_->make_room(bytes);
  };
  start(take(1, small));
  start(take(4 * kHalf, huge));

  run_ready();
  EXPECT_FALSE(huge);
  small.reset();
  run_ready();

  EXPECT_TRUE(huge);
}

}  // namespace

}  // namespace vitrine::display
