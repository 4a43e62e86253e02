// SPDX-License-Identifier: Apache-2.0
#include "server/drive.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace vitrine::bench {

namespace {

constexpr std::chrono::seconds kSilence{60};

class Driver {
 public:
  Driver(std::vector<Client>& clients, const Script& script)
      : clients_(clients), script_(script), lanes_(clients.size()) {}

  Status run() {
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (Status s = advance(i, nullptr); !s) return s;
    while (running_ > 0) {
      if (Status s = send_due(); !s) return s;
      if (Status s = wait(); !s) return s;
    }
    return ok();
  }

 private:
  struct Lane {
    std::optional<Step> waiting;  // not sent yet
    std::optional<Request> sent;
  };

  Status advance(std::size_t i, const Answer* answer) {
    if (answer == nullptr) ++running_;
    Result<std::optional<Step>> next = script_(i, answer);
    if (!next) return std::move(next.error());
    lanes_[i].sent.reset();
    if (!*next) return --running_, ok();
    lanes_[i].waiting = std::move(**next);
    if (lanes_[i].waiting->due <= Clock::now()) return send(i);
    return ok();
  }

  Status send(std::size_t i) {
    lanes_[i].sent = std::move(lanes_[i].waiting->request);
    lanes_[i].waiting.reset();
    return clients_[i].send(*lanes_[i].sent);
  }

  Status send_due() {
    const auto now = Clock::now();
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i].waiting && lanes_[i].waiting->due <= now)
        if (Status s = send(i); !s) return s;
    return ok();
  }

  Status wait() {
    auto until = Clock::now() + kSilence;
    polled_.clear();
    owners_.clear();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].waiting) until = std::min(until, lanes_[i].waiting->due);
      if (!lanes_[i].sent) continue;
      polled_.push_back({.fd = clients_[i].fd(), .events = POLLIN, .revents = 0});
      owners_.push_back(i);
    }
    const auto left = std::max(until - Clock::now(), Clock::duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    const int ready = ::ppoll(polled_.data(), polled_.size(), &time, nullptr);
    if (ready < 0 && errno != EINTR) return Error::from_errno("waiting for answers");
    if (ready == 0 && left >= kSilence - std::chrono::seconds(1))
      return Error{Code::timed_out, "the answers stopped coming"};
    for (std::size_t k = 0; k < polled_.size(); ++k) {
      if (polled_[k].revents == 0) continue;
      const std::size_t i = owners_[k];
      Result<Answer> answer = clients_[i].receive();
      if (!answer) return std::move(answer.error());
      if (!answer->good()) return refused(*lanes_[i].sent, *answer);
      if (Status s = advance(i, &*answer); !s) return s;
    }
    return ok();
  }

  std::vector<Client>& clients_;
  const Script& script_;
  std::vector<Lane> lanes_;
  std::vector<pollfd> polled_;
  std::vector<std::size_t> owners_;
  std::size_t running_ = 0;
};

}  // namespace

Result<std::vector<Client>> connect_all(std::uint16_t port, std::size_t count) {
  std::vector<Client> clients;
  for (std::size_t i = 0; i < count; ++i) {
    Result<Client> client = Client::connect(port);
    if (!client) return std::move(client.error());
    clients.push_back(std::move(*client));
  }
  return clients;
}

Status drive(std::vector<Client>& clients, const Script& script) {
  return Driver(clients, script).run();
}

}  // namespace vitrine::bench
