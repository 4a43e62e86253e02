// SPDX-License-Identifier: Apache-2.0
#include "display/screen.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vitrine::display {

namespace {

constexpr std::chrono::milliseconds kHelperTimeout{2000};
constexpr std::size_t kMostBytes = std::size_t{kMostScreen} * kMostScreen * 4;

Error no_helper() {
  return Error{.code = Code::unsupported,
               .message = "windows cannot be listed: this build has no screen helper",
               .remedy = "build vitrine-screen"};
}

template <class T>
Result<T> expect(Result<HelperReply>& reply) {
  if (!reply) return std::move(reply.error());
  if (auto* value = std::get_if<T>(&reply->reply)) return std::move(*value);
  if (auto* refused = std::get_if<wire::screen::Refused>(&reply->reply))
    return Error{.code = Code::invalid_argument, .message = refused->text};
  return Error{Code::internal, "the screen's helper sent an unexpected answer"};
}

}  // namespace

Task<Result<std::shared_ptr<View>>> Screen::open(std::uint64_t session, Start start) {
  if (view_) co_return view_;
  const std::uint32_t epoch = epoch_;
  const wire::Request request = wire::OpenDisplay{session, start == Start::if_needed};
  backend::KeeperReply reply = co_await keeper_.call(request);
  if (epoch != epoch_)
    co_return Error{.code = Code::unavailable,
                    .message = "the display ended during the request",
                    .remedy = "try again"};
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::DisplayOpened> opened = backend::expect<wire::DisplayOpened>(std::move(reply));
  if (!opened) co_return std::move(opened.error());
  if (view_ && view_->generation == opened->generation)
    co_return view_;  // a concurrent open() was faster
  Fd framebuffer = opened->fds.take(wire::FdRole::framebuffer, fds);
  Fd helper = opened->fds.take(wire::FdRole::screen_helper, fds);
  if (!framebuffer || !opened->geometry.validate())
    co_return Error{Code::internal, "the keeper sent no framebuffer"};
  auto view = std::make_shared<View>(std::move(framebuffer), opened->geometry, opened->generation);
  if (helper) {
    view->helper = std::make_shared<Helper>(executor_, std::move(helper));
    view->helper->start();
  }
  running_ = true;
  view_ = view;
  co_return view;
}

void Screen::died(std::string detail) {
  ++epoch_;
  running_ = false;
  view_.reset();
  pointer.reset();
  death_ = std::move(detail);
}

std::vector<std::string> Screen::take_notes() {
  std::vector<std::string> notes;
  if (const std::optional<std::string> how = std::exchange(death_, std::nullopt))
    notes.push_back("display: the X server ended (" + *how +
                    ") and closed every window; the next window starts a new one");
  if (view_ && view_->helper && view_->helper->take_restart())
    notes.emplace_back(
        "display: the screen's helper was killed by a program and restarted; keys and buttons "
        "that it held down may still be down");
  return notes;
}

void Screen::forget() {
  ++epoch_;
  running_ = false;
  view_.reset();
  pointer.reset();
  death_.reset();
}

Task<Result<wire::screen::Windows>> list_windows(std::shared_ptr<View> view) {
  if (!view->helper) co_return no_helper();
  const wire::screen::Request request = wire::screen::ListWindows{};
  Result<HelperReply> reply = co_await view->helper->ask(request, kHelperTimeout);
  co_return expect<wire::screen::Windows>(reply);
}

Task<Result<SealedPicture>> capture_window(std::shared_ptr<View> view, std::uint32_t window) {
  if (!view->helper) co_return no_helper();
  const wire::screen::Request request = wire::screen::CaptureWindow{window};
  Result<HelperReply> reply = co_await view->helper->ask(request, kHelperTimeout);
  Result<wire::screen::Captured> captured = expect<wire::screen::Captured>(reply);
  if (!captured) co_return std::move(captured.error());
  SealedPicture picture;
  picture.file = std::move(reply->file);
  picture.width = captured->width;
  picture.height = captured->height;
  co_return picture;
}

Result<Frame> read_sealed(const SealedPicture& picture) {
  const auto& [file, width, height] = picture;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  Frame frame{width, height, {}};
  const std::size_t size = std::size_t{width} * height * 4;
  struct stat info {};
  if (!file || width == 0 || height == 0 || width > wire::screen::kMaxSide ||
      height > wire::screen::kMaxSide || (::fcntl(file.get(), F_GET_SEALS) & kSeals) != kSeals ||
      ::fstat(file.get(), &info) != 0 || static_cast<std::size_t>(info.st_size) != size)
    return Error{Code::internal, "the screen's helper sent no valid image"};
  // A sparse file costs the session nothing, but would cost the front a gigabyte.
  if (size > kMostBytes)
    return Error{Code::over_limit, "the window has more pixels than the largest screen"};
  frame.pixels.resize(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t got =
        ::pread(file.get(), frame.pixels.data() + at, size - at, static_cast<off_t>(at));
    if (got <= 0) return Error{Code::internal, "the image of a window is truncated"};
    at += static_cast<std::size_t>(got);
  }
  return frame;
}

}  // namespace vitrine::display
