// SPDX-License-Identifier: Apache-2.0
#include "service/screens.h"

#include "service/errors.h"

namespace vitrine::service {

using session::Recording;
using session::Session;
using View = std::shared_ptr<display::View>;

std::optional<screen::Point> pointer_after(const screen::Input& input) {
  std::optional<screen::Point> last;
  for (const screen::InputEvent& event : input.events) {
    if (const auto* move = std::get_if<screen::Move>(&event)) last = move->to;
    if (const auto* drag = std::get_if<screen::Drag>(&event)) last = drag->to;
    if (const auto* click = std::get_if<screen::Click>(&event); click && click->at)
      last = click->at;
    if (const auto* scroll = std::get_if<screen::Scroll>(&event); scroll && scroll->at)
      last = scroll->at;
    if (const auto* down = std::get_if<screen::ButtonDown>(&event); down && down->at)
      last = down->at;
    if (const auto* up = std::get_if<screen::ButtonUp>(&event); up && up->at) last = up->at;
  }
  return last;
}

std::chrono::milliseconds time_for(const screen::Input& input) {
  std::chrono::milliseconds time{10'000};
  for (const screen::InputEvent& event : input.events) {
    time += std::chrono::milliseconds(10);
    if (const auto* pause = std::get_if<screen::Pause>(&event))
      time += std::chrono::milliseconds(pause->milliseconds);
    if (const auto* drag = std::get_if<screen::Drag>(&event))
      time += std::chrono::milliseconds(drag->steps * 10);
    if (const auto* text = std::get_if<screen::Text>(&event))
      time += std::chrono::milliseconds(text->text.size() * 5);
  }
  return time;
}

screen::Point pointer_of(const SessionRef& session) {
  const Geometry& size = session->spec().display;
  return session->screen().pointer.value_or(screen::Point{
      static_cast<std::int32_t>(size.width / 2), static_cast<std::int32_t>(size.height / 2)});
}

Task<Result<WindowList>> Screens::windows(SessionRef session) {
  const std::shared_ptr<Session> of = own(session);
  WindowList out;
  Result<View> opened = co_await of->screen().open(of->keeper_id(), display::Screen::Start::no);
  if (opened) {
    registry_.wake(*of);
    Result<screen::Windows> told = co_await display::list_windows(*opened);
    if (!told) co_return std::move(told.error());
    out.running = true;
    out.windows = std::move(told->windows);
    out.more = told->more;
  }
  out.notes = of->screen().take_notes();
  co_return out;
}

Task<Result<std::vector<std::string>>> Screens::input(SessionRef session, screen::Input events) {
  const std::shared_ptr<Session> to = own(session);
  if (to->death()) co_return session_dead("it cannot take input");
  registry_.wake(*to);
  Result<View> opened = co_await to->screen().open(to->keeper_id(), display::Screen::Start::no);
  if (!opened)
    co_return Error{.code = Code::conflict,
                    .message = "the session has no display yet: no program has opened a window",
                    .remedy = "run code that opens a window, then send input",
                    .reason = "no_display"};
  if (!(*opened)->helper)
    co_return Error{.code = Code::unsupported,
                    .message = "this build has no screen helper, so no input",
                    .remedy = "build vitrine-screen"};
  const auto patience = time_for(events);
  const auto pointer = pointer_after(events);
  const screen::Request request = std::move(events);
  Result<display::HelperReply> reply = co_await (*opened)->helper->ask(request, patience);
  if (!reply) co_return std::move(reply.error());
  if (const auto* refused = std::get_if<screen::Refused>(&reply->reply)) {
    const std::string field =
        refused->event ? "events[" + std::to_string(*refused->event) + "]" : "events";
    co_return Error{.code = Code::invalid_argument,
                    .message = field + ": " + refused->text,
                    .remedy = "change this event; none of them was delivered",
                    .reason = "invalid_field"};
  }
  if (pointer) to->screen().pointer = pointer;
  co_return to->screen().take_notes();
}

Task<Result<std::shared_ptr<Recording>>> Screens::record(SessionRef session,
                                                         display::RecordingOptions wish,
                                                         Identity asks) {
  const std::shared_ptr<Session> of = own(session);
  if (of->death()) co_return session_dead("its display cannot be recorded");
  if (auto refusal = recordings_.refuses(asks)) co_return std::move(*refusal);
  registry_.wake(*of);
  Result<std::shared_ptr<Recording>> film = co_await recordings_.start(of, wish, asks);
  if (film) co_return film;
  Error why = std::move(film.error());
  if (why.code == Code::not_found) co_return not_found();
  if (why.code == Code::over_limit && why.reason.empty()) why.reason = "disk_full";
  co_return why;
}

}  // namespace vitrine::service
