// SPDX-License-Identifier: Apache-2.0
#include "service/run.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

namespace vitrine::service {

using namespace boost::asio::experimental::awaitable_operators;
using session::Event;

namespace {

// Most executions are over before it is worth watching whether the client is still there.
constexpr std::chrono::milliseconds kUnwatched{10};

}  // namespace

Run::Run(std::shared_ptr<session::Session> session, std::shared_ptr<session::Execution> execution)
    : session_(std::move(session)),
      execution_(std::move(execution)),
      attached_(session_->attach()) {}

bool Run::interrupts() const {
  return execution_->request.on_disconnect == OnDisconnect::interrupt;
}

void Run::client_left() {
  left_ = true;
  reader_.reset();
  if (interrupts() && !execution_->is_finished()) session_->interrupt(execution_.get());
}

Task<bool> Run::finished(Client& client) {
  const std::shared_ptr<session::Execution> execution = execution_;
  if (co_await execution->finished_within(kUnwatched)) co_return true;
  if (!interrupts()) {
    co_await execution->finished();
    co_return true;
  }
  const auto first = co_await (execution->finished() || client.gone());
  if (first.index() == 0) co_return true;
  client_left();
  co_return false;
}

Task<std::optional<Event>> Run::next(Client& client) {
  if (!reader_) reader_ = std::make_unique<session::EventLog::Reader>(execution_->events());
  if (!interrupts()) co_return co_await reader_->next();
  auto first = co_await (reader_->next() || client.gone());
  if (first.index() == 1) {
    client_left();
    co_return std::nullopt;
  }
  co_return std::move(std::get<0>(first));
}

Task<void> Run::ended() {
  reader_.reset();
  const std::shared_ptr<session::Execution> execution = execution_;
  co_await execution->finished();
}

Task<std::string> Run::value() {
  session::EventLog::Reader reader(execution_->events());
  std::string text;
  while (std::optional<Event> event = co_await reader.next()) {
    const auto* result = std::get_if<session::ResultEvent>(&*event);
    if (result == nullptr || result->kind != session::ResultKind::value) continue;
    for (const auto& [type, bytes] : result->data)
      if (type == "text/plain") text = bytes;
  }
  co_return text;
}

}  // namespace vitrine::service
