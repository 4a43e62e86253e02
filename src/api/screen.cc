// SPDX-License-Identifier: Apache-2.0
#include "api/screen.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "api/places.h"
#include "api/problem.h"
#include "api/request_parts.h"
#include "api/screen_requests.h"
#include "api/text.h"

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

// A session may change its screen for ever, keep its helper from answering, and read its pictures
// slowly: who waits for any of these holds nothing that others wait for.
constexpr int kOfOneSession = 2;  // requests in the works; more wait for these
constexpr int kPictures = 4;      // frames that are read and encoded at once: up to 64 MiB each
constexpr int kHidden = 4;        // windows that helpers are asked for at once
// Encoded and not yet taken by clients. Only large ones are counted, and refused beyond this.
constexpr std::size_t kLarge = 4u << 20;
constexpr std::size_t kUnsent = 256u << 20;

struct Screens {
  explicit Screens(session::Registry& sessions) : registry(sessions) {}

  session::Registry& registry;
  Places of_session{kOfOneSession};
  Places pictures{kPictures};
  Places hidden{kHidden};
  display::Frame scratch;  // of who looks at the moment
  std::size_t unsent = 0;

  Task<void> screenshot(Exchange& exchange);
  Task<void> windows(Exchange& exchange);
  Task<void> input(Exchange& exchange);

  Task<void> send(Exchange& exchange, std::string picture, const char* type,
                  std::vector<std::string> notes);
  Task<Status> wait_still(std::shared_ptr<Session> session, View view, PictureQuery query);
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

// Looks until nothing has changed for a moment; keeps no frame meanwhile. All who wait share the time
// that one would take of the thread that serves everybody.
Task<Status> Screens::wait_still(std::shared_ptr<Session> session, View view, PictureQuery query) {
  const display::Looker looker(registry.studio());
  const auto latest = Clock::now() + query.most;
  std::optional<std::uint64_t> hash;
  auto changed = Clock::now();
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    const auto began = Clock::now();
    Result<display::Look> seen = view->framebuffer.read(scratch);
    if (scratch.pixels.size() > kLarge) scratch = {};
    if (!seen) co_return std::move(seen.error());
    const auto now = Clock::now();
    if (hash != seen->hash) changed = now;
    hash = seen->hash;
    if (now >= latest || (!seen->blank && now - changed >= kStill)) co_return ok();
    timer.expires_after(std::min<Clock::duration>(
        std::max<Clock::duration>(kLook, looker.pause_after(now - began)), latest - now));
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (session->ended)
      co_return Error{.code = Code::not_found, .message = "the session was deleted"};
  }
}

Task<void> Screens::send(Exchange& exchange, std::string picture, const char* type,
                         std::vector<std::string> notes) {
  const std::size_t counted = picture.size() > kLarge ? picture.size() : 0;
  if (counted > 0 && unsent + counted > kUnsent) {
    const Problem problem =
        make_problem(http::status::service_unavailable, "no_capacity",
                     "too many large pictures wait for clients that read slowly",
                     "try again, or ask for a smaller one: region, scale, format=jpeg", 1);
    co_return co_await respond(exchange, problem);
  }
  struct Unsent {
    std::size_t& sum;
    std::size_t size;
    Unsent(std::size_t& of, std::size_t more) : sum(of), size(more) { sum += size; }
    ~Unsent() { sum -= size; }
  } const counting(unsent, counted);
  std::vector<Header> headers{{"Cache-Control", "no-store"}};
  if (!notes.empty()) headers.emplace_back("Vitrine-Notes", header_text(notes));
  co_await exchange.respond(http::status::ok, type, std::move(picture), std::move(headers));
}

Task<void> Screens::screenshot(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  const auto read = read_picture_query(exchange.query);
  if (const auto* problem = std::get_if<Problem>(&read))
    co_return co_await respond(exchange, *problem);
  const Places::Place mine = co_await of_session.take(session->id);
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
  const auto failed = [&](const Error& error) {
    if (registry.on_picture) registry.on_picture(Capture::Result::failed, Clock::now() - asked);
    return session->ended ? not_found() : picture_problem(error);
  };
  if (opened && query.wait_still) {
    Status still = co_await wait_still(session, *opened, query);
    if (!still) {
      const Problem problem = failed(still.error());
      co_return co_await respond(exchange, problem);
    }
  }
  std::optional<wire::screen::Window> window;
  std::optional<display::Frame> whole;  // of a window that others hide
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
    window = found.front();
    if (!is_in_sight(listed, *window, (*opened)->framebuffer.geometry())) {
      std::string everybody;
      const Places::Place place = co_await hidden.take(std::move(everybody));
      Result<display::Frame> captured = co_await display::capture_window(*opened, window->id);
      if (!captured) co_return co_await respond(exchange, picture_problem(captured.error()));
      whole = std::move(*captured);
    }
  }

  std::string everybody;
  Places::Place place = co_await pictures.take(std::move(everybody));
  if (session->ended) co_return co_await respond(exchange, not_found());
  display::Frame frame;
  bool blank = true;
  if (opened) {
    Result<display::Look> seen = (*opened)->framebuffer.read(frame);
    if (!seen) {
      const Problem problem = failed(seen.error());
      co_return co_await respond(exchange, problem);
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
  if (window) {
    const display::Region at = region_of(*window);
    frame = whole ? std::move(*whole) : display::crop(frame, at);
    if (finish.cursor) {
      finish.cursor->x -= at.x;
      finish.cursor->y -= at.y;
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
  const char* type = display::mime_type(finish.format);
  auto studio = registry.studio();
  Result<std::string> made = co_await studio->develop(std::move(frame), std::move(finish));
  place.leave();
  const auto ok_or_blank = blank ? Capture::Result::blank : Capture::Result::ok;
  if (registry.on_picture)
    registry.on_picture(made ? ok_or_blank : Capture::Result::failed, Clock::now() - asked);
  if (!made) co_return co_await respond(exchange, problem_of(made.error()));
  co_await send(exchange, std::move(*made), type, std::move(notes));
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
