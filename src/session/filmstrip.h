// SPDX-License-Identifier: Apache-2.0
// Pictures of the screen on the way, while an execution runs: at a steady rate, or whenever something
// has changed.
//
// Ownership: shared by the execution and its own coroutine. Threading: the front's one thread.
// Trust:     pixels are the session's doing: pictures are bounded in number and bytes, and looks take
//            at most a tenth of the time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/clock.h"
#include "display/image_pool.h"
#include "display/screen.h"
#include "model/execution.h"
#include "session/condition.h"

namespace vitrine::session {

inline constexpr std::size_t kMaxStripBytes = 16u << 20;  // of all pictures together

// What a strip needs to know of its execution, and where it puts what it has.
struct StripHooks {
  std::function<std::uint64_t()> written;  // bytes of stdout so far
  std::function<std::optional<std::uint32_t>()>
      line;  // of the code that runs now; the worker's word
  std::function<void(StripFrame)> add;
};

class Filmstrip {
 public:
  template <class T>
  using Task = boost::asio::awaitable<T>;

  Filmstrip(boost::asio::any_io_executor executor, display::Screen& screen,
            std::shared_ptr<display::ImagePool> image_pool, std::uint64_t session,
            FilmstripOptions wish, StripHooks hooks);

  // Until the execution ends, or all pictures are taken.
  Task<void> run();
  void ended();
  void display_changed() { changes_.notify_all(); }

 private:
  Task<bool> look();
  Task<std::shared_ptr<const std::string>> encode(std::shared_ptr<const display::Frame> frame);

  display::Screen& screen_;
  std::shared_ptr<display::ImagePool> image_pool_;
  std::uint64_t session_;
  FilmstripOptions wish_;
  StripHooks hooks_;
  Condition changes_;
  Clock::time_point begun_ = Clock::now();
  Clock::duration look_time_{};
  std::optional<display::ReadBudget> read_budget_;  // once there was something to look at
  display::Frame frame_;
  std::optional<std::uint64_t> last_;  // what the last picture shows
  std::uint32_t taken_ = 0;
  std::size_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace vitrine::session
