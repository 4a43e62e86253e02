// SPDX-License-Identifier: Apache-2.0
#include "api/pictures.h"

#include <algorithm>
#include <charconv>

#include "api/fields.h"
#include "api/text.h"
#include "backend/clock.h"

namespace vitrine::api {

using session::Session;
using View = std::shared_ptr<display::View>;

namespace {

constexpr auto kLook = std::chrono::milliseconds(5);
constexpr auto kStill = std::chrono::milliseconds(20);
constexpr std::size_t kMaxTitles = 20;  // in an error

constexpr int kOfOneSession = 2;  // requests in the works; more wait for these
constexpr int kPictures = 4;      // frames that are read and encoded at once: up to 64 MiB each
constexpr int kWaiting = 16;      // for these, of one session
constexpr int kNobodyIsRefused = 1 << 30;
// Encoded and not yet taken by clients. Only large ones are counted, and refused beyond this.
constexpr std::size_t kUnsent = 256u << 20;
constexpr std::size_t kUnsentOfOne = 128u << 20;  // owner
// A look at a large screen takes much of the machine that serves everybody: then nobody looks for so many
// times as long.
constexpr auto kLongLook = std::chrono::milliseconds(2);
constexpr int kRest = 4;

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

Problem no_capacity(const char* why) {
  return make_problem(http::status::service_unavailable, "no_capacity", why,
                      "try again, or ask for a smaller one: region, scale, format=jpeg", 1);
}

}  // namespace

std::vector<Header> notes_header(const std::vector<std::string>& notes) {
  if (notes.empty()) return {};
  return {{"Vitrine-Notes", header_text(notes)}};
}

Task<void> send(Exchange& exchange, Picture picture, std::vector<Header> headers) {
  headers.emplace_back("Cache-Control", "no-store");
  for (Header& one : notes_header(picture.notes)) headers.push_back(std::move(one));
  co_await exchange.respond(http::status::ok, picture.type, std::move(picture.bytes),
                            std::move(headers));
}

Pictures::Pictures(session::Registry& registry)
    : registry_(registry),
      of_session_(kOfOneSession, kWaiting),
      pictures_(kPictures, kNobodyIsRefused) {}

Task<Taken> Pictures::take(std::shared_ptr<Session> session, PictureQuery query) {
  Places::Place mine = co_await of_session_.take(session->id);
  if (session->ended) co_return not_found();
  if (!mine) co_return no_capacity("too many pictures of this session are asked for at once");
  Taken taken = co_await take_now(session, std::move(query));
  auto* picture = std::get_if<Picture>(&taken);
  if (picture == nullptr) co_return taken;
  const std::size_t counted = picture->bytes.size() > kLargePicture ? picture->bytes.size() : 0;
  std::size_t all = 0;
  for (const auto& [owner, bytes] : *unsent_) all += bytes;
  const std::string& owner = session->spec.owner;
  const auto mine_unsent = unsent_->find(owner);
  const std::size_t of_owner = mine_unsent == unsent_->end() ? 0 : mine_unsent->second;
  if (counted > 0 && (all + counted > kUnsent || of_owner + counted > kUnsentOfOne))
    co_return no_capacity("too many large pictures wait for clients that read slowly");
  Picture kept{std::move(picture->type), std::move(picture->bytes), std::move(picture->notes),
               std::move(mine), Unsent(unsent_, owner, counted)};
  co_return kept;
}

// Looks until nothing has changed for a moment; keeps no large frame meanwhile. All who wait share the
// time that one would take of the machine that serves everybody.
Task<Status> Pictures::wait_still(std::shared_ptr<Session> session, View view, PictureQuery query) {
  const std::shared_ptr<display::ImagePool> image_pool = registry_.image_pool();
  const display::ReadBudget read_budget(image_pool);
  const auto latest = Clock::now() + query.most;
  std::optional<std::uint64_t> hash;
  auto changed = Clock::now();
  Timer timer(co_await asio::this_coro::executor);
  for (;;) {
    std::shared_ptr<display::Framebuffer> screen(view, &view->framebuffer);
    const bool large = screen->geometry().bytes() > display::kLargeFrame;
    const auto keep = large ? display::ImagePool::Keep::nothing : display::ImagePool::Keep::frame;
    display::Frame before = large ? display::Frame{} : std::exchange(scratch_, {});
    display::Snapshot looked =
        co_await image_pool->read_screen(std::move(screen), std::move(before), keep);
    if (!large) scratch_ = std::move(looked.frame);
    Result<display::FrameDigest>& seen = looked.digest;
    if (!seen) co_return std::move(seen.error());
    const auto now = looked.at;
    if (hash != seen->hash) changed = now;
    hash = seen->hash;
    if (now >= latest || (!seen->blank && now - changed >= kStill)) co_return ok();
    timer.expires_after(std::min<Clock::duration>(
        std::max<Clock::duration>(kLook, read_budget.pause_after(looked.cost)), latest - now));
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (session->ended)
      co_return Error{.code = Code::not_found, .message = "the session was deleted"};
  }
}

Task<Taken> Pictures::take_now(std::shared_ptr<Session> session, PictureQuery query) {
  const auto asked = Clock::now();
  session::Pictured told{.session = session->id};
  std::vector<std::string> notes = session->screen.take_notes();
  Result<View> opened = co_await session->screen.open(session->engine, display::Screen::Start::no);
  const auto failed = [&](const Error& error) {
    told.why = error.message;
    tell(told, asked);
    return session->ended ? not_found() : picture_problem(error);
  };
  if (opened && query.wait_still) {
    Status still = co_await wait_still(session, *opened, query);
    if (!still) co_return failed(still.error());
  }
  std::optional<wire::screen::Window> window;
  std::optional<display::SealedPicture> whole;  // of a window that others hide
  if (!query.window.empty()) {
    wire::screen::Windows listed;
    if (opened) {
      registry_.wake(*session);
      Result<wire::screen::Windows> answer = co_await display::list_windows(*opened);
      if (!answer) co_return problem_of(answer.error());
      listed = std::move(*answer);
    }
    const auto found = find_windows(listed, query.window);
    if (auto problem = window_problem(listed, found, query.window)) co_return *problem;
    window = found.front();
    if (!is_in_sight(listed, *window, (*opened)->framebuffer.geometry())) {
      Result<display::SealedPicture> captured =
          co_await display::capture_window(*opened, window->id);
      if (!captured) co_return picture_problem(captured.error());
      whole.emplace(std::move(*captured));
    }
  }

  std::string everybody;
  const Places::Place place = co_await pictures_.take(std::move(everybody));
  Timer timer(co_await asio::this_coro::executor);
  while (Clock::now() < next_look_) {
    timer.expires_at(next_look_);
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (session->ended) co_return not_found();
  const std::shared_ptr<display::ImagePool> image_pool = registry_.image_pool();
  display::Frame frame;
  bool blank = true;
  Clock::duration cost{};
  if (whole) {
    auto read_it = [picture = std::move(*whole)] {
      const auto began = Clock::now();
      Result<display::Frame> read = display::read_sealed(picture);
      return std::pair{std::move(read), Clock::now() - began};
    };
    auto [read, took] = co_await image_pool->run(std::move(read_it));
    if (!read) co_return picture_problem(read.error());
    cost = took;
    frame = std::move(*read);
    blank = false;
  } else if (opened) {
    std::shared_ptr<display::Framebuffer> screen(*opened, &(*opened)->framebuffer);
    display::Frame fresh;
    display::Snapshot seen = co_await image_pool->read_screen(std::move(screen), std::move(fresh));
    if (!seen.digest) co_return failed(seen.digest.error());
    cost = seen.cost;
    frame = std::move(seen.frame);
    blank = seen.digest->blank;
    if (blank) notes.emplace_back("the screen is blank: no window is shown");
  } else {
    frame = co_await image_pool->blank(session->spec.display);
    notes.emplace_back("the screen is blank: nothing has opened a window yet");
  }
  if (session->ended) co_return not_found();
  if (cost > kLongLook) next_look_ = Clock::now() + kRest * cost;
  display::ImageOptions finish;
  finish.format = query.format;
  finish.scale = query.scale;
  if (query.cursor) {
    const Geometry& size = session->spec.display;
    const wire::screen::Point at = session->screen.pointer.value_or(wire::screen::Point{
        static_cast<std::int32_t>(size.width / 2), static_cast<std::int32_t>(size.height / 2)});
    finish.cursor = display::Region{at.x, at.y, 0, 0};
  }
  if (window) {
    const display::Region at = region_of(*window);
    if (!whole) finish.window = at;
    if (finish.cursor) {
      finish.cursor->x -= at.x;
      finish.cursor->y -= at.y;
    }
    blank = false;
  }
  if (query.region) {
    const std::uint32_t width = finish.window ? window->width : frame.width;
    const std::uint32_t height = finish.window ? window->height : frame.height;
    finish.region = display::clipped(*query.region, width, height);
    if (!finish.region) {
      const Problem problem =
          bad_field("region",
                    "no part of it is in the picture, which has " + std::to_string(width) + "x" +
                        std::to_string(height) + " pixels",
                    "send x,y,width,height inside it");
      co_return problem;
    }
  }
  told.result = blank ? session::PictureResult::blank : session::PictureResult::ok;
  co_return co_await encode(std::move(frame), std::move(finish), std::move(notes), told, asked);
}

void Pictures::tell(session::Pictured told, Clock::time_point asked) const {
  told.latency = Clock::now() - asked;
  if (registry_.on_picture) registry_.on_picture(told);
}

Task<Taken> Pictures::encode(display::Frame frame, display::ImageOptions finish,
                             std::vector<std::string> notes, session::Pictured told,
                             Clock::time_point asked) {
  const char* type = display::mime_type(finish.format);
  auto image_pool = registry_.image_pool();
  auto shared = std::make_shared<const display::Frame>(std::move(frame));
  Result<std::string> made = co_await image_pool->encode(std::move(shared), std::move(finish));
  if (!made) {
    told.result = session::PictureResult::failed;
    told.why = made.error().message;
  }
  tell(told, asked);
  if (!made) co_return problem_of(made.error());
  Picture picture;
  picture.type = type;
  picture.bytes = std::move(*made);
  picture.notes = std::move(notes);
  co_return picture;
}

}  // namespace vitrine::api
