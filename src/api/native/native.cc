// SPDX-License-Identifier: Apache-2.0
#include "api/native/native.h"

#include <boost/json.hpp>

#include "api/native/keeper_info.h"
#include "api/native/requests.h"
#include "api/problem.h"
#include "api/render.h"
#include "api/route_helpers.h"
#include "api/schemas.h"
#include "api/streamed.h"
#include "api/text.h"

namespace vitrine::api {

namespace json = boost::json;
using service::Run;
using service::SessionRef;

namespace {

struct Native {
  service::Operations& operations;
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
  // Answers with what came of it, as one JSON or as a stream of what comes.
  Task<void> answer_run(Exchange& exchange, Streamed& streamed, Run& run);
  Task<void> stream_run(Exchange& exchange, Streamed& streamed, Run& run);
};

Task<void> Native::create(Exchange& exchange) {
  std::optional<json::object> body = co_await read_body(exchange, EmptyBody::is_object);
  if (!body) co_return;
  service::SessionRequest request;
  request.spec.policy = operations.default_policy();
  Fields fields(*body);
  read_session(fields, request);
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  request.spec.owner = exchange.identity->name;
  Streamed streamed(exchange);
  HttpClient client(exchange, &streamed);
  Result<SessionRef> made = co_await operations.create(std::move(request), client);
  if (!made) co_return co_await streamed.fail(made.error());
  const SessionRef session = *made;
  exchange.session_id = session->id;
  if (streamed.begun()) {
    std::string line = "{\"type\":\"session\",\"session\":" + session_json(*session) + "}\n";
    const bool there = co_await streamed.write(std::move(line));
    if (there) co_return co_await exchange.finish();
    (void)co_await operations.end(session);  // nobody knows its id
    co_return;
  }
  const std::vector<Header> headers{{"Location", "/v1/sessions/" + session->id}};
  co_await exchange.respond(http::status::created, "application/json", session_json(*session),
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
  for (const SessionRef& session : operations.list(*exchange.identity)) {
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
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  co_await exchange.respond(http::status::ok, "application/json", session_json(*session));
}

Task<void> Native::remove(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  Status ended = co_await operations.end(session);
  if (!ended) co_return co_await respond(exchange, problem_of(ended.error()));
  co_await exchange.respond(http::status::no_content, "", "");
}

Task<void> Native::stream_run(Exchange& exchange, Streamed& streamed, Run& run) {
  co_await streamed.begin();
  HttpClient client(exchange);
  bool there = true;
  while (there) {
    std::optional<session::Event> event = co_await run.next(client);
    if (!event) break;
    std::string line = event_json(*event);
    if (!line.empty()) there = co_await exchange.write(line + "\n");
  }
  if (!there) run.client_left();
  co_await run.ended();
  if (run.has_left()) co_return;
  co_await exchange.write("{\"type\":\"finished\",\"execution\":" + answer_json(run.execution()) +
                          "}\n");
  co_await exchange.finish();
}

Task<void> Native::answer_run(Exchange& exchange, Streamed& streamed, Run& run) {
  if (streamed.wanted()) co_return co_await stream_run(exchange, streamed, run);
  HttpClient client(exchange);
  if (!co_await run.finished(client)) co_await run.ended();
  exchange.execution_id = run.record().id;
  co_await exchange.respond(http::status::ok, "application/json", answer_json(run.execution()));
}

Task<void> Native::exec(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  std::optional<json::object> body = co_await read_body(exchange, EmptyBody::is_error);
  if (!body) co_return;
  ExecRequest request;
  Fields fields(*body);
  read_exec(fields, request);
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  Result<Run> run = operations.execute(session, std::move(request));
  if (!run) co_return co_await respond(exchange, problem_of(run.error()));
  Streamed streamed(exchange);
  co_await answer_run(exchange, streamed, *run);
}

Task<void> Native::run(Exchange& exchange) {
  std::optional<json::object> body = co_await read_body(exchange, EmptyBody::is_error);
  if (!body) co_return;
  service::SessionRequest wanted;
  wanted.spec.policy = operations.default_policy();
  ExecRequest request;
  Fields fields(*body);
  read_session(fields, wanted);
  wanted.spec.env.clear();
  read_exec(fields, request);  // `env` is both: the session lasts as long as the execution
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  wanted.spec.owner = exchange.identity->name;
  Streamed streamed(exchange);
  HttpClient client(exchange, &streamed);
  Result<Run> run = co_await operations.run(std::move(wanted), std::move(request), client);
  if (!run) co_return co_await streamed.fail(run.error());
  co_await answer_run(exchange, streamed, *run);
  (void)co_await operations.end(run->session());
}

Task<void> Native::history(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  const auto page = read_page(exchange.query, 50, 500);
  if (auto* problem = std::get_if<Problem>(&page)) co_return co_await respond(exchange, *problem);
  const Page& wanted = std::get<Page>(page);
  const auto before = read_history_cursor(wanted.after);
  if (auto* problem = std::get_if<Problem>(&before)) co_return co_await respond(exchange, *problem);
  Result<service::HistoryPage> rows = operations.history(session, std::get<std::uint64_t>(before),
                                                         static_cast<std::uint32_t>(wanted.limit));
  if (!rows) co_return co_await respond(exchange, problem_of(rows.error()));
  std::string out = "{\"executions\":[";
  for (std::size_t i = 0; i < rows->rows.size(); ++i)
    out += (i == 0 ? "" : ",") + stored_execution_json(rows->rows[i]);
  out += "],\"next\":";
  out += rows->next == 0 ? "null" : "\"" + std::to_string(rows->next) + "\"";
  co_await exchange.respond(http::status::ok, "application/json", out + "}");
}

Task<void> Native::one_execution(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  Result<service::StoredExecution> row = operations.stored(session, exchange.parameters[1]);
  if (!row) co_return co_await respond(exchange, problem_of(row.error()));
  co_await exchange.respond(http::status::ok, "application/json", stored_execution_json(*row));
}

Task<void> Native::stack(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  Result<service::StackView> seen = co_await operations.stack(session);
  if (!seen) co_return co_await respond(exchange, problem_of(seen.error()));
  const auto or_null = [](const std::optional<std::string>& text) {
    return text ? json::value(*text) : json::value(nullptr);
  };
  json::object out{{"running", seen->execution.has_value()}};
  out["execution"] = or_null(seen->execution);
  out["stack"] = or_null(seen->text);
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
}

Task<void> Native::interrupt(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  operations.interrupt(session);
  co_await exchange.respond(http::status::no_content, "", "");
}

Task<void> Native::reset(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  std::optional<json::object> body = co_await read_body(exchange, EmptyBody::is_object);
  if (!body) co_return;
  Fields fields(*body);
  fields.use(kReset);
  const bool keep = fields.choice("files").value_or("wipe") == "keep";
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  Status done = co_await operations.reset(session, keep ? Files::keep : Files::wipe);
  if (!done) co_return co_await respond(exchange, problem_of(done.error()));
  co_await exchange.respond(http::status::ok, "application/json", session_json(*session));
}

Task<void> Native::info(Exchange& exchange) {
  Result<KeeperInfo> keeper = co_await operations.keeper_info();
  json::object out{{"name", "vitrine"}, {"version", config.version}};
  if (keeper)
    for (auto& [name, value] : keeper_json(*keeper)) out[name] = std::move(value);
  out["sessions"] = operations.count(*exchange.identity);
  out["policy"] = to_string(operations.default_policy());  // of sessions that name none
  out["policies"] = json::array{"native", "restricted", "smolagents"};
  std::string text = json::serialize(out);
  text.insert(text.size() - 1,
              ",\"limits\":" + limits_json(Limits{}, session::SessionSpec{}.install_time));
  co_await exchange.respond(http::status::ok, "application/json", text);
}

}  // namespace

void add_native_routes(Router& router, service::Operations& operations,
                       const NativeConfig& config) {
  auto native = std::make_shared<Native>(Native{operations, config});
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
  add(verb::get, "/v1/sessions/{id}/stack", "Stack of the running code", &Native::stack);
  add(verb::post, "/v1/sessions/{id}/interrupt", "Interrupt the running code", &Native::interrupt);
  add(verb::post, "/v1/sessions/{id}/reset", "Start a new process under the same id",
      &Native::reset);
  add(verb::post, "/v1/run", "Create, execute, end", &Native::run);
  add(verb::get, "/v1/info", "Version, isolation, limits", &Native::info);
}

}  // namespace vitrine::api
