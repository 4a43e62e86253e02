// SPDX-License-Identifier: Apache-2.0
#include "service/operations.h"

#include "service/errors.h"

namespace vitrine::service {

using session::Session;

SessionRef Operations::find(const Identity& asks, const std::string& id) const {
  std::shared_ptr<Session> session = registry_.find(id, asks);
  if (session) session->touch();
  return session;
}

std::vector<SessionRef> Operations::list(const Identity& asks) const {
  const std::vector<std::shared_ptr<Session>> all = registry_.list(asks);
  return {all.begin(), all.end()};
}

std::size_t Operations::count(const Identity& asks) const {
  return asks.is_named() ? registry_.list(asks).size() : registry_.count();
}

Status Operations::check(const SessionRequest& request) const {
  Capabilities needs;
  if (packages_.wants(request)) needs.add(Capability::packages);
  return registry_.check(request.spec, needs);
}

Task<Result<SessionRef>> Operations::create(SessionRequest request, Client& client) {
  if (Status possible = check(request); !possible) co_return std::move(possible.error());
  session::Prepared prepared;
  if (packages_.wants(request)) {
    // An installation takes long: whoever may have no session is told before.
    if (auto refusal = registry_.refuses(request.spec)) co_return std::move(*refusal);
    Status provided = co_await packages_.prepare(request, prepared, client);
    if (!provided) co_return std::move(provided.error());
  }
  const LayerList layers = request.spec.layers;
  Result<std::shared_ptr<Session>> made =
      co_await registry_.create(std::move(request.spec), std::move(prepared));
  if (made) co_return SessionRef(std::move(*made));
  co_return creation_failed(packages_.explain_layers(layers, std::move(made.error())));
}

Task<Result<std::vector<std::string>>> Operations::prepare(SessionRequest request, Client& client) {
  session::Prepared prepared;
  Status provided = co_await packages_.prepare(request, prepared, client);
  if (!provided) co_return std::move(provided.error());
  co_return std::move(prepared.notes);
}

Task<Status> Operations::reset(SessionRef session, Files files) {
  Status done = co_await registry_.reset(own(session), files);
  if (!done && done.error().code == Code::not_found) co_return not_found();
  co_return done;
}

Task<Status> Operations::end(SessionRef session) {
  Status done = co_await registry_.end(own(session));
  if (!done && done.error().code == Code::not_found) co_return not_found();
  co_return done;
}

Result<Run> Operations::execute(const SessionRef& session, ExecRequest request) {
  const std::shared_ptr<Session> to = own(session);
  if (to->death()) return session_dead(*to);
  registry_.wake(*to);
  Result<std::shared_ptr<session::Execution>> started = to->execute(std::move(request));
  if (started) return Run(to, std::move(*started));
  if (started.error().reason.empty()) return session_dead(*to);
  return std::move(started.error());
}

Task<Result<Run>> Operations::run(SessionRequest request, ExecRequest code, Client& client) {
  request.spec.lifetime = Lifetime::one_shot;
  if (!request.spec.seed) request.spec.variant = session::variant_for(code.code);
  Result<SessionRef> session = co_await create(std::move(request), client);
  if (!session) co_return std::move(session.error());
  Result<Run> started = execute(*session, std::move(code));
  if (started) {
    // Nobody can ask its session for them.
    for (const std::string& note : (*session)->notes()) started->add_note(note);
    co_return std::move(*started);
  }
  Error why = std::move(started.error());
  (void)co_await end(*session);
  co_return why;
}

Task<Result<StackView>> Operations::stack(SessionRef session) {
  const std::shared_ptr<Session> of = own(session);
  if (of->death()) co_return session_dead(*of);
  StackView seen;
  seen.text = co_await of->stack();
  if (const session::Execution* current = of->current()) seen.execution = current->record.id;
  co_return seen;
}

Result<HistoryPage> Operations::history(const SessionRef& session, std::uint64_t before,
                                        std::uint32_t limit) const {
  Result<store::Store::Page> page = store_.executions(session->id, before, limit);
  if (!page) return std::move(page.error());
  return HistoryPage{std::move(page->rows), page->next};
}

Result<StoredExecution> Operations::stored(const SessionRef& session,
                                           const std::string& execution) const {
  Result<std::optional<store::ExecRow>> row = store_.execution(session->id, execution);
  if (!row) return std::move(row.error());
  if (!*row) return not_found();
  return std::move(**row);
}

Task<Result<KeeperInfo>> Operations::keeper_info() {
  backend::KeeperReply reply = co_await keeper_.call(wire::Info{});
  co_return backend::expect<KeeperInfo>(std::move(reply));
}

}  // namespace vitrine::service
