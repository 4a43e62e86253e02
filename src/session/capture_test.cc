// SPDX-License-Identifier: Apache-2.0
#include "session/capture.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "testing/front.h"

namespace vitrine::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using vitrine::testing::FakeKeeper;

constexpr Geometry kSmall{64, 100};
constexpr std::uint32_t kRed = 0xff0000;

Task<bool> finished(std::shared_ptr<Capture> capture) {
  co_await capture->run();
  co_return true;
}

// A screen that the test paints, and a capture of it.
class CaptureTest : public ::testing::Test {
 protected:
  CaptureTest() : file(::memfd_create("framebuffer", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(kPixelsOffset + kSmall.bytes())), 0);
    paint(kRootColour);
    front.listen([](const wire::Event&) {});
    request.capture_screenshot = true;
  }

  void has_display() {
    front.keeper.on<wire::OpenDisplay>([this](const wire::OpenDisplay&) {
      FakeKeeper::Answer answer{wire::DisplayOpened{kSmall, 1, {{wire::FdRole::framebuffer}}}};
      answer.fds.push_back(std::move(*duplicate(file.get())));
      return answer;
    });
  }
  void paint(std::uint32_t colour) {
    const display::Frame frame = display::plain(kSmall, colour);
    EXPECT_EQ(::pwrite(file.get(), frame.pixels.data(), frame.pixels.size(), kPixelsOffset),
              static_cast<ssize_t>(frame.pixels.size()));
  }
  void begin() {
    CaptureHooks hooks{.cpu_us = [this] { return cpu_us; },
                       .end_loop = [this](wire::Screen seen) { asked.push_back(seen); },
                       .captured = [this] { ++captured; }};
    capture = std::make_shared<Capture>(front.context.get_executor(), screen, pool, 1, kSmall,
                                        request, hooks);
    task = front.start(finished(capture));
  }
  void wait() {
    front.until([this] { return task.is_done(); });
  }
  // Time in steps that are short beside the capture's pauses.
  void pass(milliseconds time) {
    for (milliseconds gone{}; gone < time; gone += milliseconds(2)) front.advance(milliseconds(2));
  }

  vitrine::testing::Front front;
  Fd file;
  display::Screen screen{front.context.get_executor(), front.link};
  std::shared_ptr<display::ImagePool> pool = std::make_shared<display::ImagePool>();
  ExecRequest request;
  std::shared_ptr<Capture> capture;
  vitrine::testing::Front::Started<bool> task;
  std::uint64_t cpu_us = 1000;
  std::vector<wire::Screen> asked;
  int captured = 0;
};

TEST_F(CaptureTest, OfCodeThatOpensNoWindowIsBlankAndSaysSo) {
  begin();
  capture->painted();
  wait();

  EXPECT_EQ(captured, 1) << "the worker may go on";
  EXPECT_TRUE(capture->png);
  EXPECT_EQ(capture->result, PictureResult::blank);
  ASSERT_FALSE(capture->notes.empty());
  EXPECT_NE(capture->notes[0].find("no window was opened"), std::string::npos);
}

TEST_F(CaptureTest, IsTakenOnceTheScreenIsStillAfterPainting) {
  has_display();
  begin();
  paint(kRed);
  capture->painted();
  pass(milliseconds(10));
  EXPECT_EQ(captured, 0) << "it may still change";
  pass(milliseconds(40));
  wait();

  EXPECT_EQ(captured, 1);
  EXPECT_EQ(capture->result, PictureResult::ok);
  EXPECT_TRUE(capture->notes.empty());
}

TEST_F(CaptureTest, DoesNotWaitLongerThanTheRenderTimeForAScreenThatKeepsChanging) {
  has_display();
  request.render_timeout = milliseconds(100);
  begin();
  capture->painted();

  for (std::uint32_t i = 0; i < 60; ++i) {
    paint(kRed + i);
    pass(milliseconds(2));
  }
  wait();

  EXPECT_EQ(captured, 1);
  EXPECT_EQ(capture->result, PictureResult::ok);
}

TEST_F(CaptureTest, AsksAnEventLoopThatIsStillAndIdleToEnd) {
  has_display();
  begin();
  paint(kRed);
  pass(milliseconds(400));

  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked[0], wire::Screen::still);
  EXPECT_EQ(captured, 0) << "the worker does not wait for us";
  capture->ended(Capture::Worker::alive);
  wait();
  EXPECT_EQ(capture->result, PictureResult::ok);
}

TEST_F(CaptureTest, AsksALoopThatKeepsPaintingOnlyAfterTheDisplayTime) {
  has_display();
  request.display_time = milliseconds(1000);
  begin();
  std::uint32_t colour = kRed;
  const auto animate = [&](milliseconds time) {
    for (milliseconds gone{}; gone < time; gone += milliseconds(10)) {
      paint(++colour);
      cpu_us += 9000;
      pass(milliseconds(10));
    }
  };

  animate(milliseconds(900));
  EXPECT_TRUE(asked.empty());
  animate(milliseconds(300));

  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked[0], wire::Screen::painting);
}

TEST_F(CaptureTest, HasWhatWasSeenOfASessionThatDied) {
  has_display();
  begin();
  paint(kRed);
  pass(milliseconds(30));

  capture->ended(Capture::Worker::dead);
  wait();

  EXPECT_TRUE(capture->png);
  EXPECT_EQ(capture->result, PictureResult::ok);
}

TEST_F(CaptureTest, EndsWithAnExecutionThatEndsWithoutPainting) {
  begin();
  capture->ended(Capture::Worker::alive);
  wait();

  EXPECT_EQ(captured, 0) << "there is nobody to go on";
  EXPECT_TRUE(capture->png);
}

TEST_F(CaptureTest, FindsADisplayThatStartsWhileTheCodeRuns) {
  begin();
  has_display();
  paint(kRed);
  screen.started();
  capture->display_changed();
  pass(milliseconds(20));
  capture->painted();
  pass(milliseconds(60));
  wait();

  EXPECT_EQ(capture->result, PictureResult::ok);
}

TEST_F(CaptureTest, SaysWhatIsWrongWithAScreenThatCannotBeRead) {
  has_display();
  ASSERT_EQ(::ftruncate(file.get(), 1000), 0);
  begin();
  pass(milliseconds(10));
  capture->ended(Capture::Worker::alive);
  wait();

  ASSERT_FALSE(capture->notes.empty());
  EXPECT_EQ(capture->notes[0].find("screenshot: "), 0u);
}

}  // namespace
}  // namespace vitrine::session
