// SPDX-License-Identifier: Apache-2.0
#include "display/image_pool.h"

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

class ImagePoolTest : public testing::Test {
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
  std::shared_ptr<ImagePool> image_pool_ = std::make_shared<ImagePool>();
  int running_ = 0;
};

TEST_F(ImagePoolTest, LooksAtALargeScreenWhileItsThreadServesOthers) {
  bool looking = false;
  int served = 0;
  const auto look = [&]() -> Task<void> {
    Frame fresh;
    looking = true;
    const Snapshot snapshot =
        co_await image_pool_->read_screen(screen_of(kLarge), std::move(fresh));
    looking = false;
    EXPECT_TRUE(snapshot.digest && !snapshot.digest->blank);
    EXPECT_EQ(snapshot.frame.row(0)[2], 0xFF);
    EXPECT_GT(snapshot.cost.count(), 0);
    EXPECT_LE(snapshot.cost, snapshot.at - snapshot.began);
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

TEST_F(ImagePoolTest, LooksAtASmallScreenAtOnce) {
  bool seen = false;
  const auto look = [&]() -> Task<void> {
    Frame fresh;
    seen = static_cast<bool>(
        (co_await image_pool_->read_screen(screen_of(kSmall), std::move(fresh))).digest);
  };
  start(look());

  run_ready();

  EXPECT_TRUE(seen);
}

TEST_F(ImagePoolTest, WorksAsideAndComesBack) {
  const auto home = std::this_thread::get_id();
  const auto work = [&]() -> Task<void> {
    auto where = [] { return std::this_thread::get_id(); };
    const std::thread::id there = co_await image_pool_->run(where);
    EXPECT_NE(there, home);
    EXPECT_EQ(std::this_thread::get_id(), home);
    auto fail = []() -> int { throw std::runtime_error("on purpose"); };
    bool caught = false;
    try {
      (void)co_await image_pool_->run(fail);
    } catch (const std::runtime_error&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
  };
  start(work());

  run();
}

TEST_F(ImagePoolTest, LetsGoOnItsThreadWhatNobodyWaitsForAnyMore) {
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
        [](std::shared_ptr<ImagePool> image_pool, auto what) -> Task<void> {
          (void)co_await image_pool->run(std::move(what));
        }(image_pool_, std::move(work)),
        [](std::exception_ptr) {});
    short_lived.poll();   // lent, and not waited for
    image_pool_.reset();  // joins its threads, once the coroutine lets it go
  }

  EXPECT_EQ(gone, std::this_thread::get_id());
}

TEST_F(ImagePoolTest, DevelopsAFrameThatIsKept) {
  const auto frame = std::make_shared<const Frame>(plain(kSmall, 0x336699));
  const auto make = [&]() -> Task<void> {
    ImageOptions half;
    half.window = Region{0, 0, 32, 50};
    half.scale = 0.5;
    Result<std::string> made = co_await image_pool_->encode(frame, half);
    EXPECT_TRUE(made && made->size() > 24);
    EXPECT_EQ(made->substr(16, 8), std::string("\0\0\0\x10\0\0\0\x19", 8)) << "16 x 25";
    EXPECT_EQ(frame->width, kSmall.width);
  };
  start(make());

  run();
}

TEST_F(ImagePoolTest, MakesRoomWhenSomeIsLeftAndNotBefore) {
  std::shared_ptr<ImagePool::Reservation> first;
  std::shared_ptr<ImagePool::Reservation> second;
  std::string order;
  const auto take = [&](std::size_t bytes, std::shared_ptr<ImagePool::Reservation>& into,
                        char name) -> Task<void> {
    into = co_await image_pool_->reserve(bytes);
    order += name;
  };
  std::shared_ptr<ImagePool::Reservation> third;
  start(take(kHalf, first, 'a'));
  start(take(kHalf + 1, second, 'b'));
  start(take(1, third, 'c'));

  run_ready();
  EXPECT_EQ(order, "a") << "one that would fit does not pass one that was first";
  first.reset();
  run_ready();

  EXPECT_EQ(order, "abc");
}

TEST_F(ImagePoolTest, MakesRoomForOneThatIsLargerThanAllWhenNobodyHasAny) {
  std::shared_ptr<ImagePool::Reservation> small;
  std::shared_ptr<ImagePool::Reservation> huge;
  const auto take = [&](std::size_t bytes,
                        std::shared_ptr<ImagePool::Reservation>& into) -> Task<void> {
    into = co_await image_pool_->reserve(bytes);
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
