// SPDX-License-Identifier: Apache-2.0
#include "session/execution_captures.h"

#include "backend/clock.h"

namespace vitrine::session {

namespace {

// How long the line that a worker told is believed.
constexpr std::chrono::milliseconds kLineHolds{50};

// It adds to an execution that it must not keep alive.
StripHooks strip_hooks(std::weak_ptr<Execution> target) {
  const auto written = [target] {
    const auto execution = target.lock();
    return execution ? execution->written() : 0;
  };
  const auto line = [target]() -> std::optional<std::uint32_t> {
    const auto execution = target.lock();
    if (!execution || execution->ending || execution->line == 0) return std::nullopt;
    if (Clock::now() - execution->line_at > kLineHolds) return std::nullopt;
    return execution->line;
  };
  const auto add = [target](StripFrame frame) {
    if (auto execution = target.lock()) execution->add_frame(std::move(frame));
  };
  return {written, line, add};
}

}  // namespace

ExecutionCaptures::ExecutionCaptures(asio::any_io_executor executor, const Place& place,
                                     const std::shared_ptr<Execution>& execution,
                                     CaptureHooks hooks) {
  const ExecRequest& request = execution->request;
  if (request.capture_screenshot)
    capture_ = std::make_shared<Capture>(executor, place.screen, place.image_pool, place.keeper_id,
                                         place.geometry, request, std::move(hooks));
  if (request.strip)
    strip_ = std::make_shared<Filmstrip>(executor, place.screen, place.image_pool, place.keeper_id,
                                         *request.strip, strip_hooks(execution));
}

Task<Pictured> ExecutionCaptures::take_picture(std::shared_ptr<Execution> execution) {
  std::shared_ptr<Capture> capture = capture_;
  co_await capture->run();
  capture_.reset();
  Pictured told{.session = execution->record.session,
                .execution = execution->record.id,
                .result = capture->result,
                .latency = capture->latency};
  if (!capture->png && !capture->notes.empty()) told.why = capture->notes.back();
  for (std::string& note : capture->notes) execution->add_note(std::move(note));
  execution->add_screenshot(std::move(capture->png));
  co_return told;
}

Task<void> ExecutionCaptures::take_strip(std::shared_ptr<Execution> execution) {
  std::shared_ptr<Filmstrip> strip = strip_;
  co_await strip->run();
  strip_.reset();
  if (execution->record.frames.empty())
    execution->add_note("no screenshots were taken while it ran: nothing was shown on the display");
}

bool ExecutionCaptures::painted() {
  if (capture_) capture_->painted();
  return capture_ != nullptr;
}

void ExecutionCaptures::ended(Capture::Worker worker) {
  if (strip_) strip_->ended();
  if (capture_) capture_->ended(worker);
}

void ExecutionCaptures::display_changed() {
  if (capture_) capture_->display_changed();
  if (strip_) strip_->display_changed();
}

}  // namespace vitrine::session
