// SPDX-License-Identifier: Apache-2.0
#include "api/sandbox_vm/sandbox_vm.h"

#include <charconv>
#include <map>
#include <set>

#include "api/recordings.h"
#include "api/render.h"
#include "api/screen_requests.h"
#include "api/send_picture.h"
#include "api/streamed.h"
#include "service/default_sessions.h"

namespace vitrine::api {

using service::DefaultSessions;
using service::SessionRef;
using Dead = DefaultSessions::Dead;
using Film = std::shared_ptr<session::Recording>;

namespace {

constexpr const char* kSession = "Vitrine-Session";

struct SandboxVm {
  service::Screens& screens;
  service::Screenshots& screenshots;
  DefaultSessions sessions;
  session::Condition changes;
  std::map<std::string, Film> films = {};  // by identity: what /record started last
  std::set<std::string> starting = {};     // identities whose recording is about to begin

  Task<void> screenshot(Exchange& exchange);
  Task<void> record(Exchange& exchange);
  Task<void> start(Exchange& exchange, display::RecordingOptions wish);
  Task<void> stop(Exchange& exchange);

  // Null after it has answered why there is none.
  Task<SessionRef> session_of(Exchange& exchange, Dead dead);
  Task<void> tell(Exchange& exchange, Film film);
};

// These are GETs that change something: a page elsewhere could make a browser send them.
std::optional<Problem> foreign_page(const Exchange& exchange) {
  const std::string site = exchange.header("Sec-Fetch-Site");
  if (site.empty() || site == "none" || site == "same-origin") return std::nullopt;
  return make_problem(http::status::forbidden, "foreign_origin",
                      "pages of other origins may not call this server",
                      "call it from a program, or from its own pages");
}

Task<SessionRef> SandboxVm::session_of(Exchange& exchange, Dead dead) {
  if (auto problem = foreign_page(exchange)) {
    co_await respond(exchange, *problem);
    co_return nullptr;
  }
  const Identity asks = *exchange.identity;
  HttpClient client(exchange);
  Result<SessionRef> found = co_await sessions.of(asks, dead, client);
  if (!found) {
    co_await respond(exchange, problem_of(found.error()));
    co_return nullptr;
  }
  exchange.session_id = (*found)->id;
  co_return *found;
}

// Only what names a picture type gets a picture: clients of this REST read JSON.
bool wants_picture(const Exchange& exchange) {
  return exchange.header("Accept").find("image/") != std::string::npos;
}

Task<void> SandboxVm::screenshot(Exchange& exchange) {
  std::map<std::string, std::string> asked = exchange.query;
  const auto method = asked.extract("method");  // ways of looking that are one here
  if (method && method.mapped() != "pyautogui" && method.mapped() != "pillow") {
    const Problem problem =
        bad_field("method", "there is no such method", "send pyautogui, pillow, or leave it out");
    co_return co_await respond(exchange, problem);
  }
  const auto read = read_picture_query(asked);
  if (const auto* problem = std::get_if<Problem>(&read))
    co_return co_await respond(exchange, *problem);
  const service::PictureQuery query = std::get<service::PictureQuery>(read);
  SessionRef session = co_await session_of(exchange, Dead::is_good_enough);
  if (!session) co_return;
  Result<service::Picture> taken = co_await screenshots.take(session, query);
  if (!taken) co_return co_await respond(exchange, problem_of(taken.error()));
  service::Picture& picture = *taken;
  std::vector<Header> headers{{kSession, session->id}};
  if (wants_picture(exchange))
    co_return co_await send_picture(exchange, std::move(picture), std::move(headers));
  if (picture.bytes.size() > service::kLargePicture) {
    const Problem problem = make_problem(
        http::status::payload_too_large, "too_large",
        "the image has " + std::to_string(picture.bytes.size()) + " bytes",
        "send Accept: image/png, or request a smaller one: region, scale, format=jpeg");
    co_return co_await respond(exchange, problem);
  }
  const Geometry& size = session->spec().display;
  const service::screen::Point pointer = service::pointer_of(session);
  json::array notes(picture.notes.begin(), picture.notes.end());
  const json::object out{{"status", "ok"},
                         {"session", session->id},
                         {"screenshot", base64(picture.bytes)},
                         {"media_type", picture.type},
                         {"screenshot_path", "/v1/sessions/" + session->id + "/screenshot"},
                         {"screen_size", json::array{size.width, size.height}},
                         {"mouse_position", json::array{pointer.x, pointer.y}},
                         {"notes", std::move(notes)}};
  headers.emplace_back("Cache-Control", "no-store");
  std::string body = json::serialize(out);
  co_await exchange.respond(http::status::ok, "application/json", std::move(body),
                            std::move(headers));
}

// The fields of a recording, out of a query: numbers are numbers there too.
json::object fields_of(const std::map<std::string, std::string>& query) {
  json::object fields;
  for (const auto& [name, value] : query) {
    if (name == "mode") continue;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = error == std::errc{} && end == value.data() + value.size();
    fields[name] = whole ? json::value(number) : json::value(value);
  }
  return fields;
}

Task<void> SandboxVm::record(Exchange& exchange) {
  const auto mode = exchange.query.find("mode");
  if (mode == exchange.query.end() || (mode->second != "start" && mode->second != "stop")) {
    const Problem problem = bad_field("mode", "it is neither start nor stop",
                                      "send /record?mode=start, later /record?mode=stop");
    co_return co_await respond(exchange, problem);
  }
  const json::object given = fields_of(exchange.query);
  Fields fields(given);
  const display::RecordingOptions wish = read_wish(fields, screens.recordings());
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  if (mode->second == "stop") co_return co_await stop(exchange);
  co_await start(exchange, wish);
}

Task<void> SandboxVm::start(Exchange& exchange, display::RecordingOptions wish) {
  SessionRef session = co_await session_of(exchange, Dead::is_replaced);
  if (!session) co_return;
  const Identity asks = *exchange.identity;
  while (starting.contains(asks.name)) co_await changes.wait();
  const Film running = films[asks.name];
  if (running && running->is_running() && running->session == session->id)
    co_return co_await tell(exchange, running);
  struct Starting {
    SandboxVm& of;
    std::string name;
    Starting(SandboxVm& vm, std::string who) : of(vm), name(std::move(who)) {
      of.starting.insert(name);
    }
    ~Starting() {
      of.starting.erase(name);
      of.changes.notify_all();
    }
  } starts(*this, asks.name);
  Result<Film> started = co_await screens.record(session, wish, asks);
  if (!started) co_return co_await respond(exchange, problem_of(started.error()));
  const Film film = *started;
  films[asks.name] = film;
  co_await tell(exchange, film);
}

Task<void> SandboxVm::stop(Exchange& exchange) {
  if (auto problem = foreign_page(exchange)) co_return co_await respond(exchange, *problem);
  const Film film = films[exchange.identity->name];
  if (!film || film->removed) {
    const Problem problem =
        make_problem(http::status::conflict, "not_recording", "nothing is being recorded here",
                     "send /record?mode=start first");
    co_return co_await respond(exchange, problem);
  }
  exchange.session_id = film->session;
  co_await screens.recordings().stop(film);
  if (films[exchange.identity->name] == film) films.erase(exchange.identity->name);
  co_await tell(exchange, film);
}

Task<void> SandboxVm::tell(Exchange& exchange, Film film) {
  json::object out = recording_object(*film, screens.recordings());
  out["status"] = film->is_running() ? "recording" : "stopped";
  out["screen_recording_file"] = "/v1/sessions/" + film->session + "/recordings/" + film->id;
  const std::vector<Header> headers{{kSession, film->session}, {"Cache-Control", "no-store"}};
  const std::string body = json::serialize(out);
  co_await exchange.respond(http::status::ok, "application/json", body, headers);
}

}  // namespace

void add_sandbox_vm_routes(Router& router, asio::any_io_executor executor,
                           service::Operations& operations, service::Screens& screens,
                           service::Screenshots& screenshots) {
  auto vm = std::make_shared<SandboxVm>(SandboxVm{
      screens, screenshots, DefaultSessions(executor, operations), session::Condition(executor)});
  const auto add = [&](const char* pattern, const char* summary,
                       Task<void> (SandboxVm::*member)(Exchange&)) {
    router.add({http::verb::get, pattern, summary, Access::ordinary,
                [vm, member](Exchange& exchange) { return (*vm.*member)(exchange); }});
  };
  add("/screenshot", "Take a screenshot of the default session", &SandboxVm::screenshot);
  add("/record", "Record the display of the default session: mode=start, mode=stop",
      &SandboxVm::record);
}

}  // namespace vitrine::api
