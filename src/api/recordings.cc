// SPDX-License-Identifier: Apache-2.0
#include "api/recordings.h"

#include <algorithm>

#include "api/route_helpers.h"
#include "api/schemas.h"
#include "api/send_file.h"

namespace vitrine::api {

namespace encoder = service::encoder;
using service::SessionRef;
using session::Recording;
using Film = std::shared_ptr<Recording>;

namespace {

constexpr std::size_t kMaxBody = 64 * 1024;
constexpr std::uint64_t kMaxMb = 1024;

struct RecordingRoutes {
  service::Operations& operations;
  service::Screens& screens;
  session::Recordings& recordings = screens.recordings();

  Task<void> start(Exchange& exchange);
  Task<void> stop(Exchange& exchange);
  Task<void> list(Exchange& exchange);
  Task<void> get(Exchange& exchange);
  Task<void> remove(Exchange& exchange);

  // Null after it has answered 404.
  Task<Film> film_of(Exchange& exchange);
};

std::string_view mime_type(encoder::Format format) {
  switch (format) {
    case encoder::Format::mp4: return "video/mp4";
    case encoder::Format::webm: return "video/webm";
    case encoder::Format::apng: return "image/apng";
    case encoder::Format::gif: return "image/gif";
  }
  return "application/octet-stream";
}

// The others have no beginning before they have an end.
bool grows_playable(encoder::Format format) {
  return format == encoder::Format::mp4 || format == encoder::Format::webm;
}

std::string file_name(const Recording& one) {
  return "recording-" + one.id.substr(0, 8) + "." +
         std::string(encoder::to_string(one.wish.format));
}

json::value or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

Task<Film> RecordingRoutes::film_of(Exchange& exchange) {
  Film found = recordings.find(exchange.parameters[0], exchange.parameters[1], *exchange.identity);
  if (!found) {
    co_await respond(exchange, not_found());
    co_return nullptr;
  }
  exchange.session_id = found->session;
  (void)operations.find(*exchange.identity, found->session);  // counts as use
  co_return found;
}

Task<void> RecordingRoutes::start(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  std::optional<json::object> body =
      co_await body_of(exchange, kMaxBody, EmptyBody::is_object, "send these fields alone");
  if (!body) co_return;
  Fields fields(*body);
  const display::RecordingOptions wish = read_wish(fields, recordings);
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  const Identity asks = *exchange.identity;
  Result<Film> started = co_await screens.record(session, wish, asks);
  if (!started) co_return co_await respond(exchange, problem_of(started.error()));
  const Film film = *started;
  const std::vector<Header> headers{
      {"Location", "/v1/sessions/" + session->id + "/recordings/" + film->id}};
  const std::string text = json::serialize(recording_object(*film, recordings));
  co_await exchange.respond(http::status::created, "application/json", text, headers);
}

Task<void> RecordingRoutes::stop(Exchange& exchange) {
  Film film = co_await film_of(exchange);
  if (!film) co_return;
  co_await recordings.stop(film);
  const std::string body = json::serialize(recording_object(*film, recordings));
  co_await exchange.respond(http::status::ok, "application/json", body);
}

Task<void> RecordingRoutes::list(Exchange& exchange) {
  const std::string& id = exchange.parameters[0];
  const auto films = recordings.list(id, *exchange.identity);
  if (films.empty() && !operations.find(*exchange.identity, id))
    co_return co_await respond(exchange, not_found());
  exchange.session_id = id;
  json::array all;
  for (const Film& film : films) all.push_back(recording_object(*film, recordings));
  const std::string body = json::serialize(json::object{{"recordings", std::move(all)}});
  co_await exchange.respond(http::status::ok, "application/json", body);
}

Task<void> RecordingRoutes::get(Exchange& exchange) {
  Film film = co_await film_of(exchange);
  if (!film) co_return;
  if (film->is_running() && !grows_playable(film->wish.format)) {
    const Problem problem =
        make_problem(http::status::conflict, "still_recording",
                     "a " + std::string(encoder::to_string(film->wish.format)) +
                         " can only be downloaded after its end",
                     "POST .../stop first; mp4 and webm can be downloaded while they are recorded");
    co_return co_await respond(exchange, problem);
  }
  Result<Fd> file = recordings.film(*film);
  if (!file) co_return co_await respond(exchange, problem_of(file.error()));
  const std::uint64_t size = recordings.size(*film);
  const std::string name = file_name(*film);
  co_await send_file(exchange, file->get(), size, name, mime_type(film->wish.format));
}

Task<void> RecordingRoutes::remove(Exchange& exchange) {
  Film film = co_await film_of(exchange);
  if (!film) co_return;
  recordings.remove(film);
  co_await exchange.respond(http::status::no_content, "", "");
}

}  // namespace

json::object recording_object(const Recording& one, const session::Recordings& recordings) {
  json::object out{{"id", one.id},
                   {"session", one.session},
                   {"state", one.is_running() ? "recording" : "ended"},
                   {"format", encoder::to_string(one.wish.format)},
                   {"codec", one.codec},
                   {"width", one.width},
                   {"height", one.height},
                   {"fps", one.fps},
                   {"max_seconds", one.wish.max_seconds},
                   {"max_mb", one.wish.max_bytes >> 20},
                   {"started_at", one.started_at},
                   {"frames", one.progress.frames},
                   {"seconds", static_cast<double>(one.progress.milliseconds) / 1000},
                   {"bytes", recordings.size(one)}};
  out["ended_at"] = or_null(one.ended_at);
  out["reason"] = or_null(one.reason);
  out["detail"] = or_null(one.detail);
  return out;
}

display::RecordingOptions read_wish(Fields& fields, const session::Recordings& recordings) {
  const std::uint64_t most_mb =
      std::clamp<std::uint64_t>(recordings.limits().kept_bytes >> 20, 1, kMaxMb);
  fields.use(kRecording);
  display::RecordingOptions wish;
  const std::string format = fields.choice("format").value_or("mp4");
  for (const auto known :
       {encoder::Format::mp4, encoder::Format::webm, encoder::Format::apng, encoder::Format::gif})
    if (encoder::to_string(known) == format) wish.format = known;
  wish.fps = static_cast<std::uint32_t>(fields.whole("fps").value_or(15));
  wish.max_seconds = static_cast<std::uint32_t>(fields.whole("max_seconds").value_or(300));
  const std::uint64_t otherwise = std::min<std::uint64_t>(64, most_mb);
  wish.max_bytes = fields.whole("max_mb", 1, most_mb).value_or(otherwise) << 20;
  return wish;
}

void add_recording_routes(Router& router, service::Operations& operations,
                          service::Screens& screens) {
  auto routes = std::make_shared<RecordingRoutes>(RecordingRoutes{operations, screens});
  const auto add = [&](http::verb method, const char* pattern, const char* summary,
                       Task<void> (RecordingRoutes::*member)(Exchange&)) {
    router.add({method, pattern, summary, Access::ordinary,
                [routes, member](Exchange& exchange) { return (*routes.*member)(exchange); }});
  };
  using http::verb;
  add(verb::post, "/v1/sessions/{id}/recordings", "Record the display", &RecordingRoutes::start);
  add(verb::get, "/v1/sessions/{id}/recordings", "List recordings", &RecordingRoutes::list);
  add(verb::get, "/v1/sessions/{id}/recordings/{recording}", "Download a recording",
      &RecordingRoutes::get);
  add(verb::post, "/v1/sessions/{id}/recordings/{recording}/stop", "End a recording",
      &RecordingRoutes::stop);
  add(verb::delete_, "/v1/sessions/{id}/recordings/{recording}", "Delete a recording",
      &RecordingRoutes::remove);
}

}  // namespace vitrine::api
