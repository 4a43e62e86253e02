// SPDX-License-Identifier: Apache-2.0
#include "api/screen.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "api/problem.h"
#include "api/request_parts.h"
#include "api/screen_requests.h"
#include "api/text.h"
#include "session/changes.h"

namespace vitrine::api {

using session::Capture;
using session::Session;
using View = std::shared_ptr<display::View>;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kMaxBody = 1u << 20;
constexpr auto kLook = std::chrono::milliseconds(5);
constexpr auto kStill = std::chrono::milliseconds(20);
constexpr std::size_t kMaxTitles = 20;  // in an error

// Pictures that are being taken at once: a large screen has 64 MiB.
constexpr int kPictures = 4;

struct Screens {
  explicit Screens(session::Registry& sessions) : registry(sessions) {}

  session::Registry& registry;
  int pictures = 0;
  std::unique_ptr<session::Changes> changes = {};

  Task<void> screenshot(Exchange& exchange);
  Task<void> windows(Exchange& exchange);
  Task<void> input(Exchange& exchange);

  Task<void> send(Exchange& exchange, display::Frame frame, display::Finish finish,
                  std::vector<std::string> notes, Capture::Result result, Clock::time_point asked);
  Task<Result<display::Look>> look(std::shared_ptr<Session> session, View view,
                                   const PictureQuery& query, display::Frame& frame);
  Task<void> take_picture(Exchange& exchange, std::shared_ptr<Session> session, PictureQuery query);
};

std::string header_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += (out.empty() ? "" : "; ") + note;
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
  return out.substr(0, 1024);
}

json::array titles_of(const wire::screen::Windows& listed) {
  json::array titles;
  for (const wire::screen::Window& window : listed.windows)
    if (window.mapped && titles.size() < kMaxTitles) titles.emplace_back(window.title);
  return titles;
}

// The windows a client means: the one with the id, else those with the title, else those whose title
// contains the text. Only what is shown counts.
std::vector<wire::screen::Window> find_windows(const wire::screen::Windows& listed,
                                               const std::string& wanted) {
  std::vector<wire::screen::Window> found;
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), id);
  const bool is_id = error == std::errc{} && end == wanted.data() + wanted.size();
  const auto take = [&](auto&& fits) {
    if (!found.empty()) return;
    for (const wire::screen::Window& window : listed.windows)
      if (window.mapped && fits(window)) found.push_back(window);
  };
  if (is_id) take([&](const auto& window) { return window.id == id; });
  take([&](const auto& window) { return window.title == wanted; });
  take([&](const auto& window) { return window.title.find(wanted) != std::string::npos; });
  return found;
}

std::optional<Problem> window_problem(const wire::screen::Windows& listed,
                                      const std::vector<wire::screen::Window>& found,
                                      const std::string& wanted) {
  if (found.empty())
    return make_problem(http::status::not_found, "window_not_found",
                        "no window that is shown is called \"" + shown(wanted) +
                            "\"; there are: " + json::serialize(titles_of(listed)),
                        "use one of these titles, or an id of GET /v1/sessions/{id}/windows");
  if (found.size() == 1) return std::nullopt;
  json::array ids;
  for (const wire::screen::Window& window : found)
    if (ids.size() < kMaxTitles) ids.emplace_back(window.id);
  return make_problem(http::status::conflict, "window_ambiguous",
                      std::to_string(found.size()) + " windows are called \"" + shown(wanted) +
                          "\": " + json::serialize(ids),
                      "use one of these ids in `window`");
}

display::Region region_of(const wire::screen::Window& window) {
  return {window.x, window.y, window.width, window.height};
}

bool overlap(const display::Region& a, const display::Region& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

// Whether all of it can be seen on the screen.
bool is_in_sight(const wire::screen::Windows& listed, const wire::screen::Window& window,
                 const Geometry& geometry) {
  const display::Region region = region_of(window);
  if (region.x < 0 || region.y < 0 || region.x + region.width > geometry.width ||
      region.y + region.height > geometry.height)
    return false;
  return std::ranges::none_of(listed.windows, [&](const wire::screen::Window& other) {
    return other.mapped && other.z > window.z && overlap(region_of(other), region);
  });
}

Problem picture_problem(const Error& error) {
  return make_problem(http::status::service_unavailable, "no_picture",
                      "the picture could not be taken: " + error.message,
                      "try again; if the X server died, open the windows again", 1);
}

// One look, or as many as it takes until nothing has changed for a moment.
Task<Result<display::Look>> Screens::look(std::shared_ptr<Session> session, View view,
                                          const PictureQuery& query, display::Frame& frame) {
  auto began = Clock::now();
  const auto latest = began + query.most;
  Result<display::Look> last = view->framebuffer.read(frame);
  auto changed = Clock::now();
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (query.wait_still && last) {
    const auto now = Clock::now();
    if (now >= latest || (!last->blank && now - changed >= kStill)) break;
    timer.expires_after(std::max<Clock::duration>(kLook, display::thrifty(now - began)));
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (session->ended)
      co_return Error{.code = Code::not_found, .message = "the session was deleted"};
    began = Clock::now();
    Result<display::Look> next = view->framebuffer.read(frame);
    if (next && next->hash != last->hash) changed = Clock::now();
    last = std::move(next);
  }
  co_return last;
}

Task<void> Screens::send(Exchange& exchange, display::Frame frame, display::Finish finish,
                         std::vector<std::string> notes, Capture::Result result,
                         Clock::time_point asked) {
  const char* type = display::mime_type(finish.format);
  auto studio = registry.studio();
  Result<std::string> made = co_await studio->develop(std::move(frame), std::move(finish));
  if (!made) result = Capture::Result::failed;
  if (registry.on_picture) registry.on_picture(result, Clock::now() - asked);
  if (!made) co_return co_await respond(exchange, problem_of(made.error()));
  std::vector<Header> headers{{"Cache-Control", "no-store"}};
  if (!notes.empty()) headers.emplace_back("Vitrine-Notes", header_text(notes));
  co_await exchange.respond(http::status::ok, type, std::move(*made), std::move(headers));
}

Task<void> Screens::screenshot(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  const auto read = read_picture_query(exchange.query);
  if (const auto* problem = std::get_if<Problem>(&read))
    co_return co_await respond(exchange, *problem);
  if (!changes) changes = std::make_unique<session::Changes>(co_await asio::this_coro::executor);
  while (pictures >= kPictures) co_await changes->wait();
  struct Taking {
    Screens& of;
    explicit Taking(Screens& one) : of(one) { ++of.pictures; }
    ~Taking() {
      --of.pictures;
      of.changes->tell();
    }
  } taking(*this);
  if (session->ended) co_return co_await respond(exchange, not_found());
  co_await take_picture(exchange, session, std::get<PictureQuery>(read));
}

Task<void> Screens::take_picture(Exchange& exchange, std::shared_ptr<Session> session,
                                 PictureQuery query) {
  const auto asked = Clock::now();
  std::vector<std::string> notes;
  if (auto how = session->screen.take_death())
    notes.push_back("the X server ended (" + *how + "), and every window with it");
  Result<View> opened = co_await session->screen.open(session->engine, display::Screen::Start::no);
  display::Frame frame;
  bool blank = true;
  if (opened) {
    Result<display::Look> seen = co_await look(session, *opened, query, frame);
    if (session->ended) co_return co_await respond(exchange, not_found());
    if (!seen) {
      if (registry.on_picture) registry.on_picture(Capture::Result::failed, Clock::now() - asked);
      co_return co_await respond(exchange, picture_problem(seen.error()));
    }
    blank = seen->blank;
    if (blank) notes.emplace_back("the screen is blank: no window is shown");
  } else {
    frame = display::plain(session->spec.display);
    notes.emplace_back("the screen is blank: nothing has opened a window yet");
  }
  display::Finish finish;
  finish.format = query.format;
  finish.scale = query.scale;
  if (query.cursor) {
    const wire::screen::Point at = session->screen.pointer.value_or(wire::screen::Point{
        static_cast<std::int32_t>(frame.width / 2), static_cast<std::int32_t>(frame.height / 2)});
    finish.cursor = display::Region{at.x, at.y, 0, 0};
  }
  if (!query.window.empty()) {
    wire::screen::Windows listed;
    if (opened) {
      registry.wake(*session);
      Result<wire::screen::Windows> told = co_await display::list_windows(*opened);
      if (!told) co_return co_await respond(exchange, problem_of(told.error()));
      listed = std::move(*told);
    }
    const auto found = find_windows(listed, query.window);
    if (auto problem = window_problem(listed, found, query.window))
      co_return co_await respond(exchange, *problem);
    const display::Region place = region_of(found.front());
    if (is_in_sight(listed, found.front(), (*opened)->framebuffer.geometry())) {
      frame = display::crop(frame, place);
    } else {
      Result<display::Frame> whole = co_await display::capture_window(*opened, found.front().id);
      if (!whole) co_return co_await respond(exchange, picture_problem(whole.error()));
      frame = std::move(*whole);
    }
    if (finish.cursor) {
      finish.cursor->x -= place.x;
      finish.cursor->y -= place.y;
    }
    blank = false;
  }
  if (query.region) {
    finish.region = display::clipped(*query.region, frame.width, frame.height);
    if (!finish.region) {
      const Problem problem =
          bad_field("region",
                    "no part of it is in the picture, which has " + std::to_string(frame.width) +
                        "x" + std::to_string(frame.height) + " pixels",
                    "send x,y,width,height inside it");
      co_return co_await respond(exchange, problem);
    }
  }
  const auto result = blank ? Capture::Result::blank : Capture::Result::ok;
  co_await send(exchange, std::move(frame), std::move(finish), std::move(notes), result, asked);
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
  const json::object out{{"windows", std::move(list)},
                         {"more", more},
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
  co_await exchange.respond(http::status::no_content, "", "");
}

}  // namespace

void add_screen_routes(Router& router, session::Registry& registry) {
  auto screens = std::make_shared<Screens>(registry);
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
