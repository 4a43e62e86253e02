// SPDX-License-Identifier: Apache-2.0
// The picture of one execution: looks at the screen while code runs, decides when it is worth keeping,
// and has it made.
//
// Code that ends lets its toolkits paint and waits for us (painted); code that sits in an event loop
// never gets there: once the screen is still, or has been painted on for `display_time`, the picture is
// taken and the loop asked to end. The worker decides whether it sits in one; a computation goes on,
// and a later picture takes the place of the earlier one.
//
// Ownership: shared by the session and its own coroutine. Threading: the front's one thread.
// Trust:     pixels and times are the session's doing: everything waited for has an end of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/clock.h"
#include "display/image_pool.h"
#include "display/screen.h"
#include "model/execution.h"
#include "session/condition.h"
#include "wire/signals.h"

namespace vitrine::session {

namespace asio = boost::asio;
template <class T>
using Task = asio::awaitable<T>;

// What became of one wish for a picture, for metrics and the log.
enum class PictureResult { ok, blank, failed };
struct Pictured {
  std::string session;
  std::string execution;  // "" = asked for by itself
  PictureResult result = PictureResult::failed;
  Clock::duration latency{};
  std::string why;  // none was taken
};

// What a capture may do to its session.
struct CaptureHooks {
  std::function<std::uint64_t()> cpu_us;       // of everything in the session so far; 0 = not known
  std::function<void(wire::Screen)> end_loop;  // asks the worker
  std::function<void()> captured;              // the worker may go on
};

class Capture {
 public:
  Capture(asio::any_io_executor executor, display::Screen& screen,
          std::shared_ptr<display::ImagePool> image_pool, std::uint64_t session, Geometry geometry,
          const ExecRequest& request, CaptureHooks hooks);

  // Until there is a picture or none will be; then what follows is set.
  Task<void> run();

  // What happens meanwhile.
  void painted();
  enum class Worker { alive, dead };
  void ended(Worker worker);
  void display_changed() { changes_.notify_all(); }

  std::optional<std::string> png;
  std::vector<std::string> notes;
  using Result = PictureResult;
  Result result = Result::failed;
  Clock::duration latency{};  // from the wish for the last picture to the PNG

 private:
  Task<void> find_view();
  Task<bool> look();
  bool is_good_after_painting(Clock::time_point now) const;
  bool is_still();
  void judge_running(Clock::time_point now);
  Clock::duration pause(Clock::time_point now) const;
  Task<void> explain_blank();
  Task<vitrine::Result<std::string>> encode(display::Frame frame);

  display::Screen& screen_;
  std::shared_ptr<display::ImagePool> image_pool_;
  std::uint64_t session_;
  Geometry geometry_;
  std::chrono::milliseconds render_time_;
  std::chrono::milliseconds display_time_;
  std::size_t most_bytes_;
  CaptureHooks hooks_;
  Condition changes_;

  std::shared_ptr<display::View> view_;
  display::Frame frame_;  // the last that was read
  std::optional<display::FrameDigest> seen_;
  struct Kept {
    display::Frame frame;
    display::FrameDigest look;
  };
  std::optional<Kept> kept_;
  Clock::time_point looked_{};
  Clock::time_point look_began_{};  // the last one
  Clock::duration look_cost_{};
  std::optional<display::ReadBudget> read_budget_ = {};  // once there was something to look at
  Clock::time_point changed_{};                          // when the screen last did
  // How long it has been still, counted in looks that came in time: on a machine that has none for
  // us, the session has none either, and its stillness means nothing.
  Clock::duration still_{};
  std::uint64_t cpu_at_change_ = 0;
  Clock::duration window_{};  // of stillness in which cpu is counted
  std::uint64_t cpu_at_window_ = 0;
  bool idle_ = false;  // in the last such window
  std::optional<Clock::time_point> first_painted_;
  Clock::time_point asked_{};  // when the loop was last asked to end
  Clock::duration ask_pause_{};
  std::optional<Clock::time_point> painted_at_;
  std::optional<Worker> ended_;
  Clock::time_point ended_at_{};
};

}  // namespace vitrine::session
