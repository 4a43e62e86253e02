// SPDX-License-Identifier: Apache-2.0
#include "service/screenshots.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <charconv>

#include "backend/clock.h"
#include "service/errors.h"
#include "service/text.h"

namespace vitrine::service {

using session::Session;
using View = std::shared_ptr<display::View>;
namespace asio = boost::asio;
namespace json = boost::json;

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

std::optional<Error> window_error(const wire::screen::Windows& listed,
                                  const std::vector<wire::screen::Window>& found,
                                  const std::string& wanted) {
  if (found.empty())
    return Error{.code = Code::not_found,
                 .message = "no window that is shown is called \"" + shown(wanted) +
                            "\"; there are: " + json::serialize(titles_of(listed)),
                 .remedy = "use one of these titles, or an id of GET /v1/sessions/{id}/windows",
                 .reason = "window_not_found"};
  if (found.size() == 1) return std::nullopt;
  json::array ids;
  for (const wire::screen::Window& window : found)
    if (ids.size() < kMaxTitles) ids.emplace_back(window.id);
  return Error{.code = Code::conflict,
               .message = std::to_string(found.size()) + " windows are called \"" + shown(wanted) +
                          "\": " + json::serialize(ids),
               .remedy = "use one of these ids in `window`",
               .reason = "window_ambiguous"};
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

Error picture_error(const Error& error) {
  return {.code = Code::unavailable,
          .message = "the screenshot could not be taken: " + error.message,
          .remedy = "try again; if the X server died, open the windows again",
          .reason = "no_picture"};
}

Error no_capacity(const char* why) {
  return {.code = Code::unavailable,
          .message = why,
          .remedy = "try again, or request a smaller one: region, scale, format=jpeg",
          .reason = "no_capacity"};
}

}  // namespace

Screenshots::Screenshots(session::Registry& registry,
                         std::shared_ptr<display::ImagePool> image_pool,
                         session::ExecutionObserver& observer)
    : registry_(registry),
      image_pool_(std::move(image_pool)),
      observer_(observer),
      of_session_(kOfOneSession, kWaiting),
      pictures_(kPictures, kNobodyIsRefused) {}

Task<Result<Picture>> Screenshots::take(SessionRef asked, PictureQuery query) {
  const std::shared_ptr<Session> session = own(asked);
  Semaphore::Place mine = co_await of_session_.take(session->id);
  if (session->is_ended()) co_return not_found();
  if (!mine) co_return no_capacity("too many screenshots of this session are requested at once");
  Result<Picture> picture = co_await take_now(session, std::move(query));
  if (!picture) co_return picture;
  const std::size_t counted = picture->bytes.size() > kLargePicture ? picture->bytes.size() : 0;
  std::size_t all = 0;
  for (const auto& [owner, bytes] : *unsent_) all += bytes;
  const std::string& owner = session->spec().owner;
  const auto mine_unsent = unsent_->find(owner);
  const std::size_t of_owner = mine_unsent == unsent_->end() ? 0 : mine_unsent->second;
  if (counted > 0 && (all + counted > kUnsent || of_owner + counted > kUnsentOfOne))
    co_return no_capacity("too many large screenshots wait for clients that read slowly");
  Picture kept{std::move(picture->type), std::move(picture->bytes), std::move(picture->notes),
               std::move(mine), Unsent(unsent_, owner, counted)};
  co_return kept;
}

// Looks until nothing has changed for a moment; keeps no large frame meanwhile. All who wait share the
// time that one would take of the machine that serves everybody.
Task<Status> Screenshots::wait_still(std::shared_ptr<Session> session, View view,
                                     PictureQuery query) {
  const std::shared_ptr<display::ImagePool> image_pool = image_pool_;
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
    if (session->is_ended())
      co_return Error{.code = Code::not_found, .message = "the session was deleted"};
  }
}

Task<Result<Picture>> Screenshots::take_now(std::shared_ptr<Session> session, PictureQuery query) {
  const auto asked = Clock::now();
  session::Pictured told{.session = session->id};
  std::vector<std::string> notes = session->screen().take_notes();
  Result<View> opened =
      co_await session->screen().open(session->keeper_id(), display::Screen::Start::no);
  const auto failed = [&](const Error& error) {
    told.why = error.message;
    tell(told, asked);
    return session->is_ended() ? not_found() : picture_error(error);
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
      if (!answer) co_return std::move(answer.error());
      listed = std::move(*answer);
    }
    const auto found = find_windows(listed, query.window);
    if (auto problem = window_error(listed, found, query.window)) co_return std::move(*problem);
    window = found.front();
    if (!is_in_sight(listed, *window, (*opened)->framebuffer.geometry())) {
      Result<display::SealedPicture> captured =
          co_await display::capture_window(*opened, window->id);
      if (!captured) co_return picture_error(captured.error());
      whole.emplace(std::move(*captured));
    }
  }

  std::string everybody;
  const Semaphore::Place place = co_await pictures_.take(std::move(everybody));
  Timer timer(co_await asio::this_coro::executor);
  while (Clock::now() < next_look_) {
    timer.expires_at(next_look_);
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (session->is_ended()) co_return not_found();
  const std::shared_ptr<display::ImagePool> image_pool = image_pool_;
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
    if (!read) co_return picture_error(read.error());
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
    if (blank) notes.emplace_back("the display is blank: no window is mapped");
  } else {
    frame = co_await image_pool->blank(session->spec().display);
    notes.emplace_back("the display is blank: no window has been opened yet");
  }
  if (session->is_ended()) co_return not_found();
  if (cost > kLongLook) next_look_ = Clock::now() + kRest * cost;
  display::ImageOptions finish;
  finish.format = query.format;
  finish.scale = query.scale;
  if (query.cursor) {
    const Geometry& size = session->spec().display;
    const wire::screen::Point at = session->screen().pointer.value_or(wire::screen::Point{
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
      co_return Error{.code = Code::invalid_argument,
                      .message =
                          "region: "
                          "it is completely outside the image, which has " +
                          std::to_string(width) + "x" + std::to_string(height) + " pixels",
                      .remedy = "send x,y,width,height inside it",
                      .reason = "invalid_field"};
    }
  }
  told.result = blank ? session::PictureResult::blank : session::PictureResult::ok;
  co_return co_await encode(std::move(frame), std::move(finish), std::move(notes), told, asked);
}

void Screenshots::tell(session::Pictured told, Clock::time_point asked) const {
  told.latency = Clock::now() - asked;
  observer_.screenshot_taken(told);
}

Task<Result<Picture>> Screenshots::encode(display::Frame frame, display::ImageOptions finish,
                                          std::vector<std::string> notes, session::Pictured told,
                                          Clock::time_point asked) {
  const char* type = display::mime_type(finish.format);
  auto image_pool = image_pool_;
  auto shared = std::make_shared<const display::Frame>(std::move(frame));
  Result<std::string> made = co_await image_pool->encode(std::move(shared), std::move(finish));
  if (!made) {
    told.result = session::PictureResult::failed;
    told.why = made.error().message;
  }
  tell(told, asked);
  if (!made) co_return std::move(made.error());
  Picture picture;
  picture.type = type;
  picture.bytes = std::move(*made);
  picture.notes = std::move(notes);
  co_return picture;
}

}  // namespace vitrine::service
