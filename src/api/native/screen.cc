// SPDX-License-Identifier: Apache-2.0
#include "api/native/screen.h"

#include <memory>

#include "api/route_helpers.h"
#include "api/screen_requests.h"
#include "api/send_picture.h"

namespace vitrine::api {

using service::SessionRef;

namespace {

constexpr std::size_t kMaxBody = 1u << 20;

struct ScreenRoutes {
  service::Operations& operations;
  service::Screens& screens;
  service::Screenshots& screenshots;

  Task<void> screenshot(Exchange& exchange);
  Task<void> windows(Exchange& exchange);
  Task<void> input(Exchange& exchange);
};

Task<void> ScreenRoutes::screenshot(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  const auto read = read_picture_query(exchange.query);
  if (const auto* problem = std::get_if<Problem>(&read))
    co_return co_await respond(exchange, *problem);
  const service::PictureQuery query = std::get<service::PictureQuery>(read);
  Result<service::Picture> taken = co_await screenshots.take(session, query);
  if (!taken) co_return co_await respond(exchange, problem_of(taken.error()));
  co_await send_picture(exchange, std::move(*taken));
}

json::object window_object(const service::screen::Window& window) {
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

Task<void> ScreenRoutes::windows(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  Result<service::WindowList> listed = co_await screens.windows(session);
  if (!listed) co_return co_await respond(exchange, problem_of(listed.error()));
  json::array list;
  for (const service::screen::Window& window : listed->windows)
    list.push_back(window_object(window));
  const json::object out{{"windows", std::move(list)},
                         {"more", listed->more},
                         {"notes", json::array(listed->notes.begin(), listed->notes.end())},
                         {"display", json::object{{"running", listed->running},
                                                  {"width", session->spec().display.width},
                                                  {"height", session->spec().display.height}}}};
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
}

Task<void> ScreenRoutes::input(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  std::optional<json::object> body =
      co_await body_of(exchange, kMaxBody, EmptyBody::is_error, "send fewer events");
  if (!body) co_return;
  Fields fields(*body);
  service::screen::Input events = read_input(fields);
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  Result<std::vector<std::string>> notes = co_await screens.input(session, std::move(events));
  if (!notes) co_return co_await respond(exchange, problem_of(notes.error()));
  std::vector<Header> headers = notes_header(*notes);
  co_await exchange.respond(http::status::no_content, "", "", std::move(headers));
}

}  // namespace

void add_screen_routes(Router& router, service::Operations& operations, service::Screens& screens,
                       service::Screenshots& screenshots) {
  auto routes = std::make_shared<ScreenRoutes>(ScreenRoutes{operations, screens, screenshots});
  const auto add = [&](http::verb method, const char* pattern, const char* summary,
                       Task<void> (ScreenRoutes::*member)(Exchange&)) {
    router.add({method, pattern, summary, Access::ordinary,
                [routes, member](Exchange& exchange) { return (*routes.*member)(exchange); }});
  };
  add(http::verb::get, "/v1/sessions/{id}/screenshot", "Take a screenshot",
      &ScreenRoutes::screenshot);
  add(http::verb::get, "/v1/sessions/{id}/windows", "List the windows", &ScreenRoutes::windows);
  add(http::verb::post, "/v1/sessions/{id}/input", "Send mouse and keyboard events",
      &ScreenRoutes::input);
}

}  // namespace vitrine::api
