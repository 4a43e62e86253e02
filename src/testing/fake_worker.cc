// SPDX-License-Identifier: Apache-2.0
#include "testing/fake_worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "base/packet.h"

namespace vitrine::testing {

namespace {

void write_all(int pipe, std::string_view text) {
  if (::write(pipe, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("the fake worker's pipe is full or closed");
}

Fd copy(const Fd& fd) {
  Result<Fd> made = duplicate(fd.get());
  if (!made) throw std::runtime_error("the fake worker is dead");
  return std::move(*made);
}

}  // namespace

FakeWorker::FakeWorker() {
  Result<FdPair> socket = make_socketpair();
  Result<FdPair> out = make_pipe();
  Result<FdPair> err = make_pipe();
  if (!socket || !out || !err) throw std::runtime_error("no descriptors for a fake worker");
  socket_ = std::move(socket->second);
  front_socket_ = std::move(socket->first);
  front_out_ = std::move(out->first);
  out_ = std::move(out->second);
  front_err_ = std::move(err->first);
  err_ = std::move(err->second);
  for (const Fd* pipe : {&out_, &err_})  // a test that writes too much fails, and does not hang
    (void)set_nonblocking(pipe->get());
}

std::vector<Fd> FakeWorker::descriptors() const {
  std::vector<Fd> row;
  row.push_back(copy(front_socket_));
  row.push_back(copy(front_out_));
  row.push_back(copy(front_err_));
  return row;
}

wire::FdRoles FakeWorker::roles() {
  using wire::FdRole;
  return {{FdRole::session_socket, FdRole::stdout_pipe, FdRole::stderr_pipe}};
}

const std::vector<wire::Message>& FakeWorker::heard() {
  while (socket_) {
    Result<Packet> packet = receive_packet(socket_.get(), wire::kMaxFrame, 1, Wait::dont);
    if (!packet) break;
    Result<wire::Frame> frame = wire::decode_frame(packet->bytes);
    if (!frame) throw std::runtime_error("the front sent no frame: " + frame.error().message);
    Result<std::optional<wire::Message>> message = assembler_.add(*frame);
    if (!message) throw std::runtime_error("the front breaks the protocol");
    if (*message) heard_.push_back(std::move(**message));
  }
  return heard_;
}

std::size_t FakeWorker::count(wire::Type type) {
  return static_cast<std::size_t>(std::ranges::count(heard(), type, &wire::Message::type));
}

std::optional<std::string> FakeWorker::code(std::size_t nth) {
  for (const wire::Message& message : heard()) {
    if (message.type != wire::Type::execute || nth-- > 0) continue;
    Result<wire::Execute> execute = wire::Execute::decode(message.payload);
    if (!execute) throw std::runtime_error("the front sent no execution");
    return execute->code;
  }
  return std::nullopt;
}

void FakeWorker::say(wire::Type type, std::uint64_t execution, std::string_view payload,
                     std::uint8_t flags) {
  std::size_t done = 0;
  do {
    const std::string_view part = payload.substr(done, wire::kMaxPayload);
    const bool last = done + part.size() == payload.size();
    const auto all =
        static_cast<std::uint8_t>(flags | (last ? 0 : wire::kMore) | (done == 0 ? 0 : wire::kRest));
    say_nonsense(wire::encode_frame({type, all, execution, sequence_[execution]++, part}));
    done += part.size();
  } while (done < payload.size());
}

void FakeWorker::say_nonsense(std::string_view bytes) {
  if (Status sent = send_packet(socket_.get(), bytes, {}, Wait::dont); !sent)
    throw std::runtime_error("the front does not read: " + sent.error().message);
}

void FakeWorker::ready(std::uint64_t last_execution) {
  std::uint64_t token = 0;  // of the last resume, which this answers
  for (const wire::Message& message : heard())
    if (message.type == wire::Type::resume)
      if (Result<wire::Resume> resume = wire::Resume::decode(message.payload))
        token = resume->token;
  ready(last_execution, token);
}

void FakeWorker::ready(std::uint64_t last_execution, std::uint64_t token) {
  count_anew();
  say(wire::Type::ready, 0, wire::Ready{"3.11.2", last_execution, token}.encode());
  count_anew();
}

void FakeWorker::result(std::uint64_t execution, std::string_view text) {
  const wire::ResultBundle bundle{.data = {{"text/plain", std::string(text)}}};
  say(wire::Type::result, execution, bundle.encode());
}

void FakeWorker::note(std::uint64_t execution, std::string_view text) {
  say(wire::Type::note, execution, text);
}

void FakeWorker::error(std::uint64_t execution, std::string_view name) {
  say(wire::Type::error, execution, wire::ErrorReport{std::string(name), "", ""}.encode());
}

void FakeWorker::stack(std::uint64_t execution, std::string_view text) {
  say_nonsense(wire::encode_frame({wire::Type::stack, 0, execution, 0, text}));
}

void FakeWorker::ask_input(std::uint64_t execution, std::string_view prompt) {
  say(wire::Type::input_request, execution, wire::InputRequest{std::string(prompt)}.encode());
}

void FakeWorker::ask_packages(std::uint64_t execution, std::vector<std::string> packages) {
  say(wire::Type::package_request, execution,
      wire::PackageRequest{.packages = std::move(packages)}.encode());
}

void FakeWorker::painted(std::uint64_t execution) { say(wire::Type::painted, execution, ""); }

void FakeWorker::finished(std::uint64_t execution, wire::Claim claim, int exit_code) {
  const wire::Finished message{claim, static_cast<std::uint8_t>(exit_code)};
  say(wire::Type::finished, execution, message.encode());
}

void FakeWorker::print(std::string_view text) { write_all(out_.get(), text); }
void FakeWorker::print_error(std::string_view text) { write_all(err_.get(), text); }

void FakeWorker::close() {
  socket_.reset();
  out_.reset();
  err_.reset();
  front_socket_.reset();
  front_out_.reset();
  front_err_.reset();
}

}  // namespace vitrine::testing
