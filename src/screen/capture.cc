// SPDX-License-Identifier: Apache-2.0
#include "screen/capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <xcb/composite.h>

#include <algorithm>

namespace vitrine::screen {

namespace {

constexpr auto kRepaint = std::chrono::milliseconds(30);
constexpr std::uint64_t kMaxBytes = 64ull << 20;
constexpr std::uint32_t kPiece = 256 * 1024;  // bytes asked at once

bool is_too_large(std::uint32_t width, std::uint32_t height) {
  return width > wire::screen::kMaxSide || height > wire::screen::kMaxSide ||
         std::uint64_t{width} * height * 4 > kMaxBytes;
}

Picture refused(std::uint32_t number, std::string text) {
  return {number, wire::screen::Refused{std::move(text), std::nullopt}, Fd()};
}

bool write_all(int fd, const std::uint8_t* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t done = ::write(fd, bytes, size);
    if (done <= 0) return false;
    bytes += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

// All rows of a pixmap into a sealed memory file; none if anything is not as it should be.
Fd read_pixels(const X& x, xcb_pixmap_t pixmap, std::uint32_t width, std::uint32_t height) {
  Fd file(::memfd_create("window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::uint32_t rows_at_once = std::max(1u, kPiece / (width * 4));
  for (std::uint32_t y = 0; y < height; y += rows_at_once) {
    const std::uint32_t rows = std::min(rows_at_once, height - y);
    const Reply<xcb_get_image_reply_t> image(xcb_get_image_reply(
        x,
        xcb_get_image(x, XCB_IMAGE_FORMAT_Z_PIXMAP, pixmap, 0, static_cast<std::int16_t>(y),
                      static_cast<std::uint16_t>(width), static_cast<std::uint16_t>(rows), ~0u),
        nullptr));
    const std::size_t size = std::size_t{width} * rows * 4;
    if (!image || static_cast<std::size_t>(xcb_get_image_data_length(image.get())) != size ||
        !write_all(file.get(), xcb_get_image_data(image.get()), size))
      return Fd();
  }
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return Fd();
  return file;
}

}  // namespace

Capture::Capture(const X& x) : x_(x) {
  const xcb_query_extension_reply_t* extension = xcb_get_extension_data(x, &xcb_composite_id);
  if (extension == nullptr || extension->present == 0) return;
  const Reply<xcb_composite_query_version_reply_t> version(
      xcb_composite_query_version_reply(x, xcb_composite_query_version(x, 0, 4), nullptr));
  present_ = version && (version->major_version > 0 || version->minor_version >= 2);
}

std::optional<Clock::time_point> Capture::wakes() const {
  if (waiting_.empty()) return std::nullopt;
  return redirected_ ? ready_ : Clock::time_point{};
}

std::optional<Picture> Capture::advance(Clock::time_point now) {
  if (waiting_.empty()) return std::nullopt;
  const Wanted wanted = waiting_.front();
  if (!present_) {
    waiting_.pop_front();
    return refused(wanted.number, "this display cannot show covered windows");
  }
  if (!redirected_) {
    // Its pixels are made when it is redirected: look before that whether they would be too many.
    const Reply<xcb_get_geometry_reply_t> window(
        xcb_get_geometry_reply(x_, xcb_get_geometry(x_, wanted.window), nullptr));
    if (!window || is_too_large(window->width, window->height)) {
      waiting_.pop_front();
      return refused(wanted.number, window ? "the window is too large" : "there is no such window");
    }
    xcb_composite_redirect_window(x_, wanted.window, XCB_COMPOSITE_REDIRECT_AUTOMATIC);
    redirected_ = true;
    ready_ = now + kRepaint;
    return std::nullopt;
  }
  if (now < ready_) return std::nullopt;
  Picture picture = take(wanted);
  xcb_composite_unredirect_window(x_, wanted.window, XCB_COMPOSITE_REDIRECT_AUTOMATIC);
  redirected_ = false;
  waiting_.pop_front();
  return picture;
}

Picture Capture::take(const Wanted& wanted) {
  const auto attributes_asked = xcb_get_window_attributes(x_, wanted.window);
  const auto geometry_asked = xcb_get_geometry(x_, wanted.window);
  const Reply<xcb_get_window_attributes_reply_t> attributes(
      xcb_get_window_attributes_reply(x_, attributes_asked, nullptr));
  const Reply<xcb_get_geometry_reply_t> window(xcb_get_geometry_reply(x_, geometry_asked, nullptr));
  if (!attributes || !window) return refused(wanted.number, "there is no such window");
  if (attributes->map_state != XCB_MAP_STATE_VIEWABLE)
    return refused(wanted.number, "the window is not shown");
  const xcb_pixmap_t pixmap = xcb_generate_id(x_);
  xcb_composite_name_window_pixmap(x_, wanted.window, pixmap);
  const Reply<xcb_get_geometry_reply_t> size(
      xcb_get_geometry_reply(x_, xcb_get_geometry(x_, pixmap), nullptr));
  Picture picture = refused(wanted.number, "the window has no pixels");
  if (size && (size->depth == 24 || size->depth == 32)) {
    const std::uint32_t width = size->width;
    const std::uint32_t height = size->height;
    if (is_too_large(width, height)) picture = refused(wanted.number, "the window is too large");
    else if (Fd pixels = read_pixels(x_, pixmap, width, height))
      picture = {wanted.number, wire::screen::Captured{width, height}, std::move(pixels)};
  }
  xcb_free_pixmap(x_, pixmap);
  return picture;
}

}  // namespace vitrine::screen
