// SPDX-License-Identifier: Apache-2.0
#include "egress/resolver.h"

#include <netdb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace vitrine::egress {

namespace {

constexpr std::size_t kMaxQuestions = 128;

}  // namespace

struct Resolver::Shared {
  Lookup lookup;
  Fd event;
  std::mutex mutex;
  std::condition_variable asked;
  std::deque<std::pair<std::uint64_t, std::string>> questions;
  std::vector<Answer> answers;

  void work() {
    for (;;) {
      std::unique_lock lock(mutex);
      asked.wait(lock, [&] { return !questions.empty(); });
      const auto [number, name] = std::move(questions.front());
      questions.pop_front();
      lock.unlock();
      Answer answer{.number = number, .addresses = lookup(name)};
      lock.lock();
      answers.push_back(std::move(answer));
      const std::uint64_t one = 1;
      (void)!::write(event.get(), &one, sizeof one);
    }
  }
};

std::vector<Address> system_lookup(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, ::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    if (std::optional<Address> address = address_of(one->ai_addr)) addresses.push_back(*address);
  if (addresses.size() > kMaxAddresses) return {};
  return addresses;
}

Result<Resolver> Resolver::start(Lookup lookup, int threads) {
  auto shared = std::make_shared<Shared>();
  shared->lookup = std::move(lookup);
  shared->event = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!shared->event) return Error::from_errno("making an eventfd");
  for (int i = 0; i < threads; ++i) std::thread([shared] { shared->work(); }).detach();
  return Resolver(std::move(shared));
}

bool Resolver::ask(std::uint64_t number, std::string name) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->questions.size() >= kMaxQuestions) return false;
  shared_->questions.emplace_back(number, std::move(name));
  shared_->asked.notify_one();
  return true;
}

int Resolver::fd() const { return shared_->event.get(); }

std::vector<Answer> Resolver::take() {
  std::uint64_t ignored = 0;
  (void)!::read(shared_->event.get(), &ignored, sizeof ignored);
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->answers, {});
}

}  // namespace vitrine::egress
