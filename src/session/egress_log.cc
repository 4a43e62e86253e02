// SPDX-License-Identifier: Apache-2.0
#include "session/egress_log.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vitrine::session {

namespace asio = boost::asio;
using boost::system::error_code;
using Descriptor = asio::posix::stream_descriptor;

namespace {

constexpr int kAtOnce = 64;
constexpr int kAtTheEnd = 1024;  // more than the line holds

}  // namespace

EgressLog::EgressLog(asio::any_io_executor executor, Fd line, Fd counters)
    : line_(std::move(executor), line.release()), counters_(std::move(counters)) {
  line_.non_blocking(true);
}

asio::awaitable<bool> EgressLog::readable() {
  error_code failed;
  co_await line_.async_wait(Descriptor::wait_read,
                            asio::redirect_error(asio::use_awaitable, failed));
  co_return !failed;
}

bool EgressLog::take(const Show& show) { return take(kAtOnce, show); }

bool EgressLog::take(int most, const Show& show) {
  std::array<char, wire::kMaxEgressMessage> packet;
  for (; most > 0; --most) {
    const ssize_t got =
        ::recv(line_.native_handle(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    const auto size = static_cast<std::size_t>(got);
    if (size > packet.size()) return false;
    Result<wire::EgressMessage> message = wire::decode_egress({packet.data(), size});
    if (!message) return false;  // nothing it says is believed any more
    log_.add(*message);
    if (const auto* decided = std::get_if<wire::Decided>(&*message)) show(decided->entry);
  }
  return true;
}

NetworkLog::Report EgressLog::conclude(const Show& show) {
  (void)take(kAtTheEnd, show);
  std::array<wire::EgressCounter, wire::kEgressCounters> counters{};
  if (::pread(counters_.get(), counters.data(), sizeof counters, 0) ==
      static_cast<ssize_t>(sizeof counters))
    log_.count(counters);
  return log_.take();
}

void EgressLog::close() {
  error_code ignored;
  line_.close(ignored);
}

}  // namespace vitrine::session
