// SPDX-License-Identifier: Apache-2.0
#include "api/native.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/beast/core/string.hpp>

#include "api/files.h"
#include "api/keeper_info.h"
#include "api/native_requests.h"
#include "api/problem.h"
#include "api/provision.h"
#include "api/render.h"
#include "api/request_parts.h"
#include "api/schemas.h"
#include "api/text.h"

namespace vitrine::api {

namespace json = boost::json;
using session::Execution;
using session::Session;
using namespace boost::asio::experimental::awaitable_operators;

namespace {

constexpr std::chrono::milliseconds kPatience{10};  // before we look whether the client is there

struct Native {
  session::Registry& registry;
  NativeConfig config;

  Task<void> create(Exchange& exchange);
  Task<void> list(Exchange& exchange);
  Task<void> show(Exchange& exchange);
  Task<void> remove(Exchange& exchange);
  Task<void> exec(Exchange& exchange);
  Task<void> history(Exchange& exchange);
  Task<void> one_execution(Exchange& exchange);
  Task<void> stack(Exchange& exchange);
  Task<void> interrupt(Exchange& exchange);
  Task<void> reset(Exchange& exchange);
  Task<void> run(Exchange& exchange);
  Task<void> info(Exchange& exchange);

  Task<std::optional<json::object>> read_body(Exchange& exchange, EmptyBody empty) {
    return body_of(exchange, config.max_body, empty,
                   "upload large data as a file and read it there");
  }
  // Runs it and answers, as one JSON or as a stream.
  Task<void> answer_execution(Exchange& exchange, Streamed& streamed, Session& session,
                              ExecRequest request);
  Task<void> stream_execution(Exchange& exchange, Streamed& streamed, Session& session,
                              std::shared_ptr<Execution> execution);
  // Waits for the end; a client that leaves may interrupt it.
  Task<void> wait(Exchange& exchange, Session& session, std::shared_ptr<Execution> execution);
};

// Counts as use while it lives, so that no idle timer fires.
class Attached {
 public:
  explicit Attached(Session& session) : session_(session) { ++session_.attached; }
  ~Attached() {
    --session_.attached;
    session_.touch();
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  Session& session_;
};

std::string cause_text(const Session& session) {
  if (!session.death) return "it was ended";
  const Verdict verdict = verdict_of(*session.death);
  std::string text(to_string(verdict.outcome));
  if (session.death->cause == Cause::signalled)
    text += ", signal " + std::to_string(session.death->code);
  if (session.death->cause == Cause::exited)
    text += ", exit status " + std::to_string(session.death->code);
  for (const std::string& note : session.notes) text += "; " + note;
  return text;
}

Problem unknown_environment(const Error& error) {
  return make_problem(http::status::bad_request, "unknown_environment", error.message,
                      error.remedy);
}

Task<void> Native::create(Exchange& exchange) {
  std::optional<json::object> body = co_await read_body(exchange, EmptyBody::is_object);
  if (!body) co_return;
  session::SessionSpec spec;
  spec.policy = registry.default_policy();
  Fields fields(*body);
  read_session(fields, spec);
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  spec.owner = exchange.identity->name;
  if (Status known = registry.check_environment(spec.environment); !known)
    co_return co_await respond(exchange, unknown_environment(known.error()));
  if (auto refusal = registry.refuses(spec))
    co_return co_await respond(exchange, refused(*refusal));
  Streamed streamed(exchange);
  const bool provided = co_await provide(exchange, streamed, config.packages, spec);
  if (!provided) co_return;
  Result<std::shared_ptr<Session>> session = co_await registry.create(std::move(spec));
  if (!session) {
    Problem problem = creation_problem(session.error());
    co_return co_await streamed.fail(std::move(problem));
  }
  exchange.session_id = (*session)->id;
  if (streamed.begun()) {
    std::string line = "{\"type\":\"session\",\"session\":" + session_json(**session) + "}\n";
    const bool there = co_await streamed.write(std::move(line));
    if (there) co_return co_await exchange.finish();
    std::shared_ptr<Session> unheard = *session;  // nobody knows its id
    (void)co_await registry.end(unheard);
    co_return;
  }
  const std::vector<Header> headers{{"Location", "/v1/sessions/" + (*session)->id}};
  co_await exchange.respond(http::status::created, "application/json", session_json(**session),
                            headers);
}

Task<void> Native::list(Exchange& exchange) {
  const auto page = read_page(exchange.query, 100, 1000);
  if (auto* problem = std::get_if<Problem>(&page)) co_return co_await respond(exchange, *problem);
  const Page& wanted = std::get<Page>(page);
  const auto cursor = read_session_cursor(wanted.after);
  if (auto* problem = std::get_if<Problem>(&cursor)) co_return co_await respond(exchange, *problem);
  SessionCursor last = std::get<SessionCursor>(cursor);
  std::string list;
  std::string after = "null";
  std::size_t count = 0;
  for (const auto& session : registry.list(*exchange.identity)) {
    SessionCursor here;
    here.created_at = session->created_at;
    here.id = session->id;
    if (here <= last) continue;
    if (count++ == wanted.limit) {
      after = "\"" + to_text(last) + "\"";
      break;
    }
    list += (list.empty() ? "" : ",") + session_json(*session);
    last = std::move(here);
  }
  co_await exchange.respond(http::status::ok, "application/json",
                            "{\"sessions\":[" + list + "],\"next\":" + after + "}");
}

Task<void> Native::show(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  co_await exchange.respond(http::status::ok, "application/json", session_json(*session));
}

Task<void> Native::remove(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  Status ended = co_await registry.end(session);
  if (!ended && ended.error().code == Code::not_found)
    co_return co_await respond(exchange, not_found());
  if (!ended) co_return co_await respond(exchange, problem_of(ended.error()));
  co_await exchange.respond(http::status::no_content, "", "");
}

Task<void> Native::wait(Exchange& exchange, Session& session,
                        std::shared_ptr<Execution> execution) {
  if (co_await execution->finished_within(kPatience)) co_return;
  if (execution->request.on_disconnect == OnDisconnect::keep_going)
    co_return co_await execution->finished();
  const auto first = co_await (execution->finished() || exchange.gone());
  if (first.index() == 0) co_return;
  session.interrupt(execution.get());
  co_await execution->finished();
}

Task<void> Native::stream_execution(Exchange& exchange, Streamed& streamed, Session& session,
                                    std::shared_ptr<Execution> execution) {
  co_await streamed.begin();
  std::optional<session::EventLog::Reader> reader(std::in_place, execution->events());
  bool there = true;
  while (there) {
    // Waits for the next event and for the client's leaving at once.
    std::optional<session::Event> event;
    if (execution->request.on_disconnect == OnDisconnect::interrupt) {
      auto first = co_await (reader->next() || exchange.gone());
      if (first.index() == 1) there = false;
      else event = std::move(std::get<0>(first));
    } else {
      event = co_await reader->next();
    }
    if (!there || !event) break;
    std::string line = event_json(*event);
    if (!line.empty()) there = co_await exchange.write(line + "\n");
  }
  reader.reset();  // what nobody reads any more holds up nobody
  if (!there && execution->request.on_disconnect == OnDisconnect::interrupt &&
      !execution->is_finished())
    session.interrupt(execution.get());
  co_await execution->finished();
  if (!there) co_return;
  co_await exchange.write(
      "{\"type\":\"finished\",\"execution\":" + execution_json(execution->record) + "}\n");
  co_await exchange.finish();
}

Task<void> Native::answer_execution(Exchange& exchange, Streamed& streamed, Session& session,
                                    ExecRequest request) {
  if (auto refusal = registry.accounts().refuses_execution(session.spec.owner)) {
    Problem problem = refused(*refusal);
    co_return co_await streamed.fail(std::move(problem));
  }
  Result<std::shared_ptr<Execution>> started = session.execute(std::move(request));
  if (!started) {
    Problem problem = session_dead(cause_text(session));
    if (started.error().code == Code::over_limit)
      problem = make_problem(http::status::too_many_requests, "queue_full", started.error().message,
                             started.error().remedy, 1);
    co_return co_await streamed.fail(std::move(problem));
  }
  std::shared_ptr<Execution> execution = std::move(*started);
  const Attached attached(session);
  for (const std::string& note : session.spec.package_notes)
    if (session.spec.lifetime == Lifetime::one_shot) execution->add_note(note);
  if (streamed.wanted())
    co_return co_await stream_execution(exchange, streamed, session, execution);
  co_await wait(exchange, session, execution);
  exchange.execution_id = execution->record.id;
  co_await exchange.respond(http::status::ok, "application/json",
                            execution_json(execution->record));
}

Task<void> Native::exec(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  std::optional<json::object> body = co_await read_body(exchange, EmptyBody::is_error);
  if (!body) co_return;
  ExecRequest request;
  Fields fields(*body);
  read_exec(fields, request);
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  if (session->death) co_return co_await respond(exchange, session_dead(cause_text(*session)));
  registry.wake(*session);
  Streamed streamed(exchange);
  co_await answer_execution(exchange, streamed, *session, std::move(request));
}

Task<void> Native::run(Exchange& exchange) {
  std::optional<json::object> body = co_await read_body(exchange, EmptyBody::is_error);
  if (!body) co_return;
  session::SessionSpec spec;
  spec.policy = registry.default_policy();
  ExecRequest request;
  Fields fields(*body);
  read_session(fields, spec);
  spec.env.clear();
  read_exec(fields, request);  // `env` is both: the session lasts as long as the execution
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  spec.lifetime = Lifetime::one_shot;
  if (!spec.seed) spec.variant = session::variant_for(request.code);
  spec.owner = exchange.identity->name;
  if (Status known = registry.check_environment(spec.environment); !known)
    co_return co_await respond(exchange, unknown_environment(known.error()));
  if (auto refusal = registry.refuses(spec))
    co_return co_await respond(exchange, refused(*refusal));
  Streamed streamed(exchange);
  const bool provided = co_await provide(exchange, streamed, config.packages, spec);
  if (!provided) co_return;
  Result<std::shared_ptr<Session>> session = co_await registry.create(std::move(spec));
  if (!session) {
    Problem problem = creation_problem(session.error());
    co_return co_await streamed.fail(std::move(problem));
  }
  co_await answer_execution(exchange, streamed, **session, std::move(request));
  (void)co_await registry.end(*session);
}

Task<void> Native::history(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  const auto page = read_page(exchange.query, 50, 500);
  if (auto* problem = std::get_if<Problem>(&page)) co_return co_await respond(exchange, *problem);
  const Page& wanted = std::get<Page>(page);
  const auto before = read_history_cursor(wanted.after);
  if (auto* problem = std::get_if<Problem>(&before)) co_return co_await respond(exchange, *problem);
  Result<store::Store::Page> rows = registry.store().executions(
      session->id, std::get<std::uint64_t>(before), static_cast<std::uint32_t>(wanted.limit));
  if (!rows) co_return co_await respond(exchange, problem_of(rows.error()));
  std::string out = "{\"executions\":[";
  for (std::size_t i = 0; i < rows->rows.size(); ++i)
    out += (i == 0 ? "" : ",") + stored_execution_json(rows->rows[i]);
  out += "],\"next\":";
  out += rows->next == 0 ? "null" : "\"" + std::to_string(rows->next) + "\"";
  co_await exchange.respond(http::status::ok, "application/json", out + "}");
}

Task<void> Native::one_execution(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  Result<std::optional<store::ExecRow>> row =
      registry.store().execution(session->id, exchange.parameters[1]);
  if (!row) co_return co_await respond(exchange, problem_of(row.error()));
  if (!*row) co_return co_await respond(exchange, not_found());
  co_await exchange.respond(http::status::ok, "application/json", stored_execution_json(**row));
}

Task<void> Native::stack(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  if (session->death) co_return co_await respond(exchange, session_dead(cause_text(*session)));
  std::optional<std::string> text = co_await session->stack();
  const Execution* current = session->current();
  json::object out{{"running", current != nullptr}};
  out["execution"] = current == nullptr ? json::value(nullptr) : json::value(current->record.id);
  out["stack"] = text ? json::value(*text) : json::value(nullptr);
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
}

Task<void> Native::interrupt(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  session->interrupt(nullptr);
  co_await exchange.respond(http::status::no_content, "", "");
}

Task<void> Native::reset(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  std::optional<json::object> body = co_await read_body(exchange, EmptyBody::is_object);
  if (!body) co_return;
  Fields fields(*body);
  fields.use(kReset);
  const bool keep = fields.choice("files").value_or("wipe") == "keep";
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  Status done = co_await registry.reset(session, keep ? Files::keep : Files::wipe);
  if (!done && done.error().code == Code::not_found)
    co_return co_await respond(exchange, not_found());
  if (!done) co_return co_await respond(exchange, problem_of(done.error()));
  co_await exchange.respond(http::status::ok, "application/json", session_json(*session));
}

Task<void> Native::info(Exchange& exchange) {
  Result<KeeperInfo> keeper =
      backend::expect<KeeperInfo>(co_await registry.keeper().call(wire::Info{}));
  json::object out{{"name", "vitrine"}, {"version", config.version}};
  if (keeper)
    for (auto& [name, value] : keeper_json(*keeper)) out[name] = std::move(value);
  out["sessions"] =
      exchange.identity->is_named() ? registry.list(*exchange.identity).size() : registry.count();
  out["policy"] = to_string(registry.default_policy());  // of sessions that name none
  out["policies"] = json::array{"native", "restricted", "smolagents"};
  std::string text = json::serialize(out);
  text.insert(text.size() - 1, ",\"limits\":" + limits_json(Limits{}));
  co_await exchange.respond(http::status::ok, "application/json", text);
}

}  // namespace

void add_native_routes(Router& router, session::Registry& registry, const NativeConfig& config) {
  auto native = std::make_shared<Native>(Native{registry, config});
  const auto add = [&](http::verb method, const char* pattern, const char* summary,
                       Task<void> (Native::*member)(Exchange&), Access access = Access::ordinary) {
    router.add({method, pattern, summary, access,
                [native, member](Exchange& exchange) { return (*native.*member)(exchange); }});
  };
  using http::verb;
  add(verb::post, "/v1/sessions", "Create a session", &Native::create);
  add(verb::get, "/v1/sessions", "List sessions", &Native::list, Access::listing);
  add(verb::get, "/v1/sessions/{id}", "Show a session", &Native::show);
  add(verb::delete_, "/v1/sessions/{id}", "End a session", &Native::remove);
  add(verb::post, "/v1/sessions/{id}/exec", "Execute code", &Native::exec);
  add(verb::get, "/v1/sessions/{id}/executions", "History, newest first", &Native::history);
  add(verb::get, "/v1/sessions/{id}/executions/{execution}", "One execution",
      &Native::one_execution);
  add(verb::get, "/v1/sessions/{id}/stack", "Where it is running now", &Native::stack);
  add(verb::post, "/v1/sessions/{id}/interrupt", "Interrupt what runs", &Native::interrupt);
  add(verb::post, "/v1/sessions/{id}/reset", "A fresh process under the same id", &Native::reset);
  add(verb::post, "/v1/run", "Create, execute, end", &Native::run);
  add(verb::get, "/v1/info", "Version, isolation, limits", &Native::info);
  if (config.packages != nullptr)
    add_package_routes(router, registry, *config.packages, *config.live_packages);
  add_file_routes(router, registry, config.max_upload);
}

}  // namespace vitrine::api
