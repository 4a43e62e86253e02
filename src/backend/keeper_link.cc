// SPDX-License-Identifier: Apache-2.0
#include "backend/keeper_link.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vitrine::backend {

using boost::system::error_code;

KeeperLink::KeeperLink(asio::any_io_executor executor, Fd socket)
    : executor_(executor), socket_(executor, socket.release()) {}

Task<void> KeeperLink::run(std::function<void(const wire::Event&)> on_event) {
  co_await read_all(std::move(on_event));
  gone_ = true;
  auto waiting = std::exchange(waiting_, {});
  for (auto& [number, slot] : waiting)
    slot->try_send(error_code{}, std::make_shared<KeeperReply>());
}

Task<void> KeeperLink::read_all(std::function<void(const wire::Event&)> on_event) {
  for (;;) {
    Result<Packet> packet =
        receive_packet(socket_.native_handle(), wire::kMaxControl, kMaxPacketFds, Wait::dont);
    if (!packet && packet.error().code == Code::timed_out) {
      error_code failed;
      co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                                  asio::redirect_error(asio::use_awaitable, failed));
      if (failed) co_return;
      continue;
    }
    if (!packet) co_return;
    Result<wire::FromKeeper> message = wire::decode_from_keeper(packet->bytes);
    if (!message) co_return;
    if (auto* event = std::get_if<wire::Event>(&*message)) {
      on_event(*event);
      continue;
    }
    auto& reply = std::get<wire::NumberedReply>(*message);
    auto found = waiting_.find(reply.number);
    if (found == waiting_.end()) continue;
    auto slot = std::move(found->second);
    waiting_.erase(found);
    auto value = std::make_shared<KeeperReply>();
    value->reply = std::move(reply.reply);
    value->fds = std::move(packet->fds);
    slot->try_send(error_code{}, std::move(value));
  }
}

// No coroutine: the request is encoded before anything is suspended, so it may be a temporary.
Task<KeeperReply> KeeperLink::call(const wire::Request& request) {
  if (++last_number_ == 0) ++last_number_;  // 0 wants no answer
  if (!gone_) {
    waiting_.emplace(last_number_, std::make_shared<Slot>(executor_, 1));
    send(wire::encode_request(last_number_, request));
  }
  return answer_to(last_number_);
}

Task<KeeperReply> KeeperLink::answer_to(std::uint32_t number) {
  auto found = waiting_.find(number);
  if (found == waiting_.end()) co_return KeeperReply{};
  std::shared_ptr<Slot> slot = found->second;
  std::shared_ptr<KeeperReply> reply = co_await slot->async_receive(asio::use_awaitable);
  co_return std::move(*reply);
}

void KeeperLink::post(const wire::Request& request) { send(wire::encode_request(0, request)); }

void KeeperLink::send(std::string packet) {
  if (gone_) return;
  if (unsent_.empty()) {
    Status sent = send_packet(socket_.native_handle(), packet, {}, Wait::dont);
    if (sent || sent.error().code != Code::over_limit) return;  // a dead keeper shows in read_all
  }
  unsent_.push_back(std::move(packet));
  flush();
}

void KeeperLink::flush() {
  if (flushing_) return;
  flushing_ = true;
  socket_.async_wait(asio::posix::stream_descriptor::wait_write, [this](error_code failed) {
    flushing_ = false;
    if (failed) return;
    std::size_t sent = 0;
    while (sent < unsent_.size() &&
           send_packet(socket_.native_handle(), unsent_[sent], {}, Wait::dont))
      ++sent;
    unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(sent));
    if (!unsent_.empty()) flush();
  });
}

}  // namespace vitrine::backend
