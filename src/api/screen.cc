// SPDX-License-Identifier: Apache-2.0
#include "api/screen.h"

#include <memory>

#include "api/request_parts.h"

namespace vitrine::api {

using session::Session;
using View = std::shared_ptr<display::View>;

namespace {

constexpr std::size_t kMaxBody = 1u << 20;

struct Screens {
  session::Registry& registry;
  Pictures& pictures;

  Task<void> screenshot(Exchange& exchange);
  Task<void> windows(Exchange& exchange);
  Task<void> input(Exchange& exchange);
};

Task<void> Screens::screenshot(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  const auto read = read_picture_query(exchange.query);
  if (const auto* problem = std::get_if<Problem>(&read))
    co_return co_await respond(exchange, *problem);
  const PictureQuery query = std::get<PictureQuery>(read);
  Taken taken = co_await pictures.take(session, query);
  if (const auto* problem = std::get_if<Problem>(&taken))
    co_return co_await respond(exchange, *problem);
  co_await send(exchange, std::move(std::get<Picture>(taken)));
}

json::object window_object(const wire::screen::Window& window) {
  json::object out{{"id", window.id},
                   {"title", window.title},
                   {"x", window.x},
                   {"y", window.y},
                   {"width", window.width},
                   {"height", window.height},
                   {"mapped", window.mapped},
                   {"active", window.active},
                   {"menu", window.override_redirect},
                   {"z", window.z}};
  out["parent"] = window.parent == 0 ? json::value(nullptr) : json::value(window.parent);
  return out;
}

Task<void> Screens::windows(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  Result<View> opened = co_await session->screen.open(session->engine, display::Screen::Start::no);
  json::array list;
  bool more = false;
  if (opened) {
    registry.wake(*session);
    Result<wire::screen::Windows> told = co_await display::list_windows(*opened);
    if (!told) co_return co_await respond(exchange, problem_of(told.error()));
    for (const wire::screen::Window& window : told->windows) list.push_back(window_object(window));
    more = told->more;
  }
  const std::vector<std::string> notes = session->screen.take_notes();
  const json::object out{{"windows", std::move(list)},
                         {"more", more},
                         {"notes", json::array(notes.begin(), notes.end())},
                         {"display", json::object{{"running", static_cast<bool>(opened)},
                                                  {"width", session->spec.display.width},
                                                  {"height", session->spec.display.height}}}};
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
}

Task<void> Screens::input(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  std::optional<json::object> body =
      co_await body_of(exchange, kMaxBody, EmptyBody::is_error, "send fewer events");
  if (!body) co_return;
  Fields fields(*body);
  wire::screen::Input events = read_input(fields);
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  if (session->death) co_return co_await respond(exchange, session_dead("it cannot take input"));
  registry.wake(*session);
  Result<View> opened = co_await session->screen.open(session->engine, display::Screen::Start::no);
  if (!opened) {
    const Problem problem = make_problem(http::status::conflict, "no_display",
                                         "the session has no screen: nothing has opened a window",
                                         "run code that opens a window, then send input");
    co_return co_await respond(exchange, problem);
  }
  if (!(*opened)->helper) {
    const Problem problem =
        make_problem(http::status::unprocessable_entity, "unsupported",
                     "this build has no screen helper, so no input", "build vitrine-screen");
    co_return co_await respond(exchange, problem);
  }
  const auto patience = time_for(events);
  const auto pointer = pointer_after(events);
  const wire::screen::Request request = std::move(events);
  Result<display::HelperReply> reply = co_await (*opened)->helper->ask(request, patience);
  if (!reply) co_return co_await respond(exchange, problem_of(reply.error()));
  if (const auto* refused = std::get_if<wire::screen::Refused>(&reply->reply)) {
    const std::string field =
        refused->event ? "events[" + std::to_string(*refused->event) + "]" : "events";
    const Problem problem =
        bad_field(field, refused->text, "change this event; none of them was delivered");
    co_return co_await respond(exchange, problem);
  }
  if (pointer) session->screen.pointer = pointer;
  const std::vector<std::string> notes = session->screen.take_notes();
  std::vector<Header> headers = notes_header(notes);
  co_await exchange.respond(http::status::no_content, "", "", std::move(headers));
}

}  // namespace

void add_screen_routes(Router& router, session::Registry& registry, Pictures& pictures) {
  auto screens = std::make_shared<Screens>(Screens{registry, pictures});
  const auto add = [&](http::verb method, const char* pattern, const char* summary,
                       Task<void> (Screens::*member)(Exchange&)) {
    router.add({method, pattern, summary, Access::ordinary,
                [screens, member](Exchange& exchange) { return (*screens.*member)(exchange); }});
  };
  add(http::verb::get, "/v1/sessions/{id}/screenshot", "A picture of the screen",
      &Screens::screenshot);
  add(http::verb::get, "/v1/sessions/{id}/windows", "The windows on the screen", &Screens::windows);
  add(http::verb::post, "/v1/sessions/{id}/input", "Mouse and keyboard", &Screens::input);
}

}  // namespace vitrine::api
