// SPDX-License-Identifier: Apache-2.0
#include "screen/server.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "base/packet.h"
#include "screen/listing.h"

namespace vitrine::screen {

namespace {

namespace w = wire::screen;

constexpr int kEventsInATurn = 64;      // then a request gets its chance
constexpr std::size_t kMaxQueued = 16;  // inputs, and captures, that wait for their turn

}  // namespace

Server::Server(X x, Fd front, Life life)
    : x_(std::move(x)),
      front_(std::move(front)),
      life_(life),
      window_manager_(x_),
      player_(x_, window_manager_),
      capture_(x_) {}

Status Server::run() {
  if (Status started = window_manager_.start(); !started) return started;
  answer(0, w::Ready{life_ == Life::again});
  while (!x_.broken()) {
    advance(Clock::now());
    send_answers();
    // Last before the wait: whatever was asked above may have brought events along.
    const bool more = take_events();
    xcb_flush(x_);
    pollfd fds[] = {{x_.fd(), POLLIN, 0}, {front_.get(), 0, 0}};
    if (answers_.empty()) fds[1].events = POLLIN;  // who does not read is not listened to
    else fds[1].events = POLLOUT;
    const int wait = more ? 0 : timeout(Clock::now());
    if (::poll(fds, 2, wait) < 0 && errno != EINTR) return Error::from_errno("waiting");
    if ((fds[1].revents & POLLIN) != 0) take_request();
    else if ((fds[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) front_.reset();
  }
  return ok();
}

// True if there are more than one turn's.
bool Server::take_events() {
  for (int i = 0; i < kEventsInATurn; ++i) {
    const Reply<xcb_generic_event_t> event(xcb_poll_for_event(x_));
    if (!event) return false;
    if (event->response_type != 0)
      window_manager_.handle(*event);  // 0: an error about a window that is gone
  }
  return true;
}

void Server::take_request() {
  Result<Packet> packet = receive_packet(front_.get(), w::kMaxPacket, 0, Wait::dont);
  if (!packet) {
    if (packet.error().code == Code::unavailable) front_.reset();
    return;
  }
  Result<w::NumberedRequest> got = w::decode_request(packet->bytes);
  if (!got) return;  // not ours to answer: it has no number to trust
  const std::uint32_t number = got->number;
  if (std::holds_alternative<w::ListWindows>(got->request)) {
    answer(number, list_windows(x_, window_manager_));
  } else if (const auto* capture = std::get_if<w::CaptureWindow>(&got->request)) {
    if (capture_.waiting() < kMaxQueued) capture_.ask(number, capture->window);
    else answer(number, w::Refused{"too many windows wait to be captured", std::nullopt});
  } else if (auto* input = std::get_if<w::Input>(&got->request)) {
    if (inputs_.size() < kMaxQueued) inputs_.push_back({number, std::move(*input)});
    else answer(number, w::Refused{"too many inputs wait for their turn", std::nullopt});
  }
}

void Server::begin_input() {
  Waiting next = std::move(inputs_.front());
  inputs_.pop_front();
  for (std::size_t i = 0; i < next.input.events.size(); ++i) {
    const auto* close = std::get_if<w::Close>(&next.input.events[i]);
    if (close == nullptr || window_manager_.can_close(close->window)) continue;
    answer(next.number,
           w::Refused{close->window == 0 ? "no window is active, or the active one cannot be closed"
                                         : "there is no such window, or it cannot be closed",
                      static_cast<std::uint16_t>(i)});
    return;
  }
  read_keymap(x_, keymap_);
  auto script = make_script(next.input.events, read_screen(x_, window_manager_), keymap_);
  if (auto* refusal = std::get_if<Refusal>(&script)) {
    refusal->text.resize(std::min(refusal->text.size(), w::kMaxRefusal));
    answer(next.number, w::Refused{std::move(refusal->text), refusal->event});
    return;
  }
  const auto& steps = std::get<std::vector<Step>>(script);
  playing_ = next.number;
  player_.start(steps);
}

void Server::advance(Clock::time_point now) {
  window_manager_.settle(now);
  if (!player_.busy() && !inputs_.empty()) begin_input();
  if (player_.play(now)) answer(playing_, w::Delivered{});
  if (std::optional<Picture> picture = capture_.advance(now))
    answer(picture->number, picture->reply, std::move(picture->pixels));
}

void Server::answer(std::uint32_t number, const w::Reply& reply, Fd fd) {
  answers_.push_back({w::encode_reply(number, reply), std::move(fd)});
}

void Server::send_answers() {
  while (!answers_.empty()) {
    const Answer& next = answers_.front();
    std::vector<int> fds;
    if (next.fd) fds.push_back(next.fd.get());
    const Status sent = send_packet(front_.get(), next.bytes, fds, Wait::dont);
    if (!sent && sent.error().code == Code::over_limit) return;
    answers_.pop_front();  // sent, or nobody is there to read it
  }
}

int Server::timeout(Clock::time_point now) const {
  std::optional<Clock::time_point> next;
  for (const auto& wake : {window_manager_.wakes(), player_.wakes(), capture_.wakes()})
    if (wake && (!next || *wake < *next)) next = wake;
  if (!player_.busy() && !inputs_.empty()) return 0;
  if (!next) return -1;
  if (*next <= now) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now).count();
  return static_cast<int>(std::min<std::int64_t>(left, 60'000));
}

}  // namespace vitrine::screen
