// SPDX-License-Identifier: Apache-2.0
#include "encoder/recorder.h"

#include <poll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>

#include "base/packet.h"
#include "encoder/seal.h"

namespace vitrine::encoder {

namespace {

namespace w = wire::encoder;

constexpr std::uint64_t kFileSlack = 64 * 1024;  // for the muxer's trailer, beyond max_bytes

w::Reason reason_of(const Error& error) {
  if (error.code == Code::over_limit) return w::Reason::size;
  if (error.code == Code::unavailable) return w::Reason::disk_full;
  return w::Reason::error;
}

Result<Fd> start_timer(std::uint32_t fps) {
  Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) return Error::from_errno("making a timer");
  const std::int64_t period = 1'000'000'000 / fps;
  itimerspec every{};
  every.it_interval = every.it_value = {period / 1'000'000'000, period % 1'000'000'000};
  if (::timerfd_settime(timer.get(), 0, &every, nullptr) != 0)
    return Error::from_errno("starting a timer");
  return timer;
}

}  // namespace

int Recorder::run() {
  std::optional<End> end = prepare();
  const bool started = !end;
  if (started) {
    tell(movie_->what());
    end = record();
  }
  if (movie_) {
    // Repeats the last frame at the end, unless the file is full.
    const bool room = end->reason != w::Reason::size && end->reason != w::Reason::disk_full;
    if (room && tick_ > encoded_tick_ && encoded_tick_ >= 0)
      if (std::optional<End> failed = add(tick_)) end = failed;
    const Status finished = movie_->finish();
    if (!finished && end->reason != w::Reason::size && end->reason != w::Reason::disk_full)
      end = End{reason_of(finished.error()), finished.error().message};
  }
  end->detail.resize(std::min(end->detail.size(), w::kMaxDetail));
  tell(w::Stopped{progress(), end->reason, end->detail});
  return started ? 0 : 1;
}

std::optional<Recorder::End> Recorder::prepare() {
  const auto refuse = [](const Error& error) { return End{w::Reason::error, error.message}; };
  Result<Packet> packet = receive_packet(control_, w::kMaxPacket, 2);
  if (!packet) return End{w::Reason::asked, "nobody asked for a recording"};
  Result<w::Request> request = w::decode_request(packet->bytes);
  const w::Start* start = request ? std::get_if<w::Start>(&*request) : nullptr;
  if (start == nullptr)
    return End{w::Reason::error,
               "malformed, or out of limits: 1 to 60 fps, 16 to 4096 pixels a side, 1 s to a day"};
  if (packet->fds.size() != 2)
    return End{w::Reason::error, "the screen and the file to write did not come with the wish"};
  wish_ = *start;
  screen_ = std::move(packet->fds[0]);
  output_ = std::move(packet->fds[1]);
  source_.emplace(screen_.get(), wish_);
  Result<std::unique_ptr<Movie>> movie =
      Movie::create(output_.get(), wish_, source_->frame().width, source_->frame().height);
  if (!movie) return End{reason_of(movie.error()), movie.error().message};
  Result<Fd> timer = start_timer((*movie)->what().fps);
  if (!timer) return refuse(timer.error());
  timer_ = std::move(*timer);
  movie_ = std::move(*movie);
  if (Status sealed = seal_encoder(wish_.max_bytes + kFileSlack); !sealed) {
    movie_.reset();
    return refuse(sealed.error());
  }
  return sample();
}

Recorder::End Recorder::record() {
  const auto fps = static_cast<std::int64_t>(movie_->what().fps);
  const std::int64_t last = fps * wish_.max_seconds;
  std::int64_t reported = 0;  // seconds
  while (true) {
    pollfd fds[] = {{timer_.get(), POLLIN, 0}, {control_, POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) return {w::Reason::error, "waiting failed"};
    if (fds[1].revents != 0 && asked_to_stop()) return {};
    std::uint64_t ticks = 0;
    if (::read(timer_.get(), &ticks, sizeof ticks) != sizeof ticks) continue;
    // On a busy machine some ticks are missed; the grid goes on.
    tick_ =
        std::min(tick_ + static_cast<std::int64_t>(std::min<std::uint64_t>(ticks, 1 << 30)), last);
    if (std::optional<End> end = sample()) return *end;
    if (tick_ >= last) return {w::Reason::time, ""};
    if (tick_ / fps > reported) {
      reported = tick_ / fps;
      tell(progress());
    }
  }
}

std::optional<Recorder::End> Recorder::sample() {
  if (Status read = source_->read(); !read)
    return End{w::Reason::source_gone, read.error().message};
  const bool due = tick_ - encoded_tick_ >= static_cast<std::int64_t>(movie_->what().fps);
  if (encoded_tick_ >= 0 && source_->hash() == encoded_hash_ && !due) return std::nullopt;
  return add(tick_);
}

std::optional<Recorder::End> Recorder::add(std::int64_t tick) {
  if (Status added = movie_->add(source_->frame(), tick); !added)
    return End{reason_of(added.error()), added.error().message};
  encoded_tick_ = tick;
  encoded_hash_ = source_->hash();
  return std::nullopt;
}

// True also when the front is gone or breaks the protocol: the recording is finished properly.
bool Recorder::asked_to_stop() {
  const Result<Packet> packet = receive_packet(control_, w::kMaxPacket, 0, Wait::dont);
  return packet || packet.error().code != Code::timed_out;
}

w::Progress Recorder::progress() const {
  if (!movie_) return {};
  const auto milliseconds = tick_ * 1000 / static_cast<std::int64_t>(movie_->what().fps);
  return {movie_->frames(), movie_->bytes(), static_cast<std::uint64_t>(milliseconds)};
}

// Progress is dropped when the front does not read; the other answers wait until it does.
void Recorder::tell(const w::Reply& reply) {
  (void)send_packet(control_, w::encode_reply(reply), {},
                    std::holds_alternative<w::Progress>(reply) ? Wait::dont : Wait::block);
}

}  // namespace vitrine::encoder
