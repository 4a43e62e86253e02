// SPDX-License-Identifier: Apache-2.0
#include "testing/fake_keeper.h"

#include <stdexcept>

#include "base/packet.h"

namespace vitrine::testing {

namespace {

std::type_index type_of(const wire::Request& request) {
  return std::visit([](const auto& one) { return std::type_index(typeid(one)); }, request);
}

}  // namespace

FakeKeeper::FakeKeeper() {
  Result<FdPair> ends = make_socketpair();
  if (!ends) throw std::runtime_error("no socket for a fake keeper");
  socket_ = std::move(ends->first);
  front_end_ = std::move(ends->second);
}

bool FakeKeeper::serve() {
  bool any = false;
  while (socket_) {
    Result<Packet> packet = receive_packet(socket_.get(), wire::kMaxControl, 1, Wait::dont);
    if (!packet) break;
    any = true;
    Result<wire::NumberedRequest> request = wire::decode_request(packet->bytes);
    if (!request) throw std::runtime_error("the front sent no request: " + request.error().message);
    requests_.push_back(request->request);
    Answer answer = answer_to(request->request);
    if (request->number == 0) continue;
    if (late_.contains(type_of(request->request)))
      kept_.emplace_back(request->number, std::move(answer));
    else send(request->number, std::move(answer));
  }
  return any;
}

FakeKeeper::Answer FakeKeeper::answer_to(const wire::Request& request) {
  if (const auto scripted = script_.find(type_of(request)); scripted != script_.end())
    return scripted->second(request);
  if (std::holds_alternative<wire::Create>(request)) {
    new_worker(++last_session_);
    return opened(last_session_);
  }
  if (const auto* reset = std::get_if<wire::Reset>(&request)) {
    new_worker(reset->session);
    return opened(reset->session);
  }
  if (const auto* attach = std::get_if<wire::Attach>(&request)) return opened(attach->session);
  if (std::holds_alternative<wire::List>(request)) return {wire::Listed{}};
  if (std::holds_alternative<wire::AskUsage>(request)) return {wire::Used{}};
  if (std::holds_alternative<wire::Info>(request)) return {KeeperInfo{}};
  if (std::holds_alternative<wire::OpenDisplay>(request))
    return {Error{Code::unavailable, "no X server runs"}};
  return {wire::Done{}};
}

FakeKeeper::Answer FakeKeeper::opened(std::uint64_t session) {
  wire::Opened reply{.session = session};
  reply.fds = FakeWorker::roles();
  return {std::move(reply), worker(session).descriptors()};
}

void FakeKeeper::send(std::uint32_t number, Answer answer) {
  std::vector<int> fds;
  for (const Fd& fd : answer.fds) fds.push_back(fd.get());
  if (socket_) (void)send_packet(socket_.get(), wire::encode_reply(number, answer.reply), fds);
}

void FakeKeeper::release() {
  late_.clear();
  for (auto& [number, answer] : std::exchange(kept_, {})) send(number, std::move(answer));
}

void FakeKeeper::tell(const wire::Event& event) {
  if (socket_) (void)send_packet(socket_.get(), wire::encode_event(event));
}

void FakeKeeper::worker_died(std::uint64_t session, Death death) {
  tell(wire::Died{session, death});
}

FakeWorker& FakeKeeper::worker(std::uint64_t session) {
  const auto found = workers_.find(session);
  return found == workers_.end() ? new_worker(session) : *found->second;
}

FakeWorker& FakeKeeper::new_worker(std::uint64_t session) {
  std::unique_ptr<FakeWorker>& place = workers_[session];
  place = std::make_unique<FakeWorker>();
  return *place;
}

}  // namespace vitrine::testing
