// SPDX-License-Identifier: Apache-2.0
#include "display/recorder.h"

#include <sys/socket.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "backend/clock.h"
#include "base/packet.h"

namespace vitrine::display {

using boost::system::error_code;
using namespace boost::asio::experimental::awaitable_operators;

Recorder::Recorder(asio::any_io_executor executor, Fd socket, std::uint64_t encoder)
    : socket_(executor, socket.release()), timer_(executor), encoder_(encoder) {}

Task<Result<std::shared_ptr<Recorder>>> Recorder::adopt(asio::any_io_executor executor,
                                                        backend::KeeperLink& keeper,
                                                        std::uint64_t encoder) {
  backend::KeeperReply reply = co_await keeper.call(wire::AttachEncoder{encoder});
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::Done> done = backend::expect<wire::Done>(std::move(reply));
  if (!done) co_return std::move(done.error());
  if (fds.size() != 1) co_return Error{Code::internal, "the keeper sent no encoder"};
  co_return std::make_shared<Recorder>(executor, std::move(fds[0]), encoder);
}

Task<Result<std::shared_ptr<Recorder>>> Recorder::start(asio::any_io_executor executor,
                                                        backend::KeeperLink& keeper,
                                                        std::uint64_t session,
                                                        std::shared_ptr<View> view, const Fd& film,
                                                        RecordingOptions options) {
  const wire::Request request = wire::StartEncoder{session};
  backend::KeeperReply reply = co_await keeper.call(request);
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::EncoderStarted> started = backend::expect<wire::EncoderStarted>(std::move(reply));
  if (!started) co_return std::move(started.error());
  if (fds.size() != 1) co_return Error{Code::internal, "the keeper sent no encoder"};
  auto recorder = std::make_shared<Recorder>(executor, std::move(fds[0]), started->encoder);
  const Geometry& geometry = view->framebuffer.geometry();
  wire::encoder::Start start;
  start.width = geometry.width;
  start.height = geometry.height;
  start.offset = kPixelsOffset;
  start.stride = static_cast<std::uint32_t>(geometry.stride());
  start.fps = options.fps;
  start.format = options.format;
  start.max_seconds = options.max_seconds;
  start.max_bytes = options.max_bytes;
  const std::string packet = wire::encoder::encode_request(start);
  const std::vector<int> files{view->framebuffer.file(), film.get()};
  Status sent = send_packet(recorder->socket_.native_handle(), packet, files, Wait::dont);
  if (!sent) co_return std::move(sent.error()).during("starting the encoder");
  co_return recorder;
}

Task<Result<wire::encoder::Reply>> Recorder::next(std::chrono::milliseconds timeout) {
  timer_.expires_after(timeout);
  for (;;) {
    if (!socket_.is_open()) co_return Error{Code::unavailable, "the encoder is gone"};
    Result<Packet> packet =
        receive_packet(socket_.native_handle(), wire::encoder::kMaxPacket, 0, Wait::dont);
    if (packet) co_return wire::encoder::decode_reply(packet->bytes);
    if (packet.error().code != Code::timed_out) co_return std::move(packet.error());
    error_code unreadable;
    error_code ignored;
    const auto first =
        co_await (socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::redirect_error(asio::use_awaitable, unreadable)) ||
                  timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored)));
    const bool late = Clock::now() >= timer_.expiry();
    if (first.index() == 1 && !late) continue;  // stop() shortened the timeout
    if (first.index() == 1) co_return Error{Code::timed_out, "the encoder does not answer"};
    if (unreadable) co_return Error{Code::unavailable, "the encoder is gone"};
  }
}

void Recorder::stop(std::chrono::milliseconds timeout) {
  const auto latest = Clock::now() + timeout;
  if (timer_.expiry() > latest) timer_.expires_at(latest);
  const std::string packet = wire::encoder::encode_request(wire::encoder::Stop{});
  if (socket_.is_open()) (void)send_packet(socket_.native_handle(), packet, {}, Wait::dont);
}

void Recorder::close() {
  if (!socket_.is_open()) return;
  // The keeper holds it, too: only this tells the encoder that nobody waits for it any more.
  ::shutdown(socket_.native_handle(), SHUT_RDWR);
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace vitrine::display
