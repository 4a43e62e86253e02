// SPDX-License-Identifier: Apache-2.0
// A session's display in the front: whether an X server runs, its framebuffer, its helper.
//
// Ownership: one per session. A View is shared by its readers. After its X server died it still holds
//            the last pixels.
// Threading: the front's one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/keeper_link.h"
#include "display/framebuffer.h"
#include "display/helper.h"

namespace vitrine::display {

struct View {
  View(Fd file, const Geometry& geometry, std::uint32_t server)
      : framebuffer(std::move(file), geometry), generation(server) {}
  ~View() {
    if (helper) helper->close();
  }
  Framebuffer framebuffer;
  std::uint32_t generation;
  std::shared_ptr<Helper> helper;  // null: this build has none
};

class Screen {
 public:
  Screen(asio::any_io_executor executor, backend::KeeperLink& keeper)
      : executor_(std::move(executor)), keeper_(keeper) {}

  enum class Start { no, if_needed };
  // `unavailable` when no X server runs and `start` is Start::no.
  Task<Result<std::shared_ptr<View>>> open(std::uint64_t session, Start start);

  // Events from the keeper.
  void started() { running_ = true; }
  void died(std::string detail);
  // The session has a new worker, and may have lost its display.
  void forget();

  bool is_running() const { return running_; }
  // Notes about the display since the last call; each begins with "display: ".
  std::vector<std::string> take_notes();

  // Where the last input moved the pointer.
  std::optional<wire::screen::Point> pointer = {};

 private:
  asio::any_io_executor executor_;
  backend::KeeperLink& keeper_;
  std::shared_ptr<View> view_;
  bool running_ = false;
  std::uint32_t epoch_ = 0;  // a reply of the keeper about an earlier epoch is stale
  std::optional<std::string> death_;
};

// The windows, topmost first. `unsupported` without a helper.
Task<Result<wire::screen::Windows>> list_windows(std::shared_ptr<View> view);
// The pixels of one window, including covered parts, in a sealed memory file.
struct SealedPicture {
  Fd file;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};
Task<Result<SealedPicture>> capture_window(std::shared_ptr<View> view, std::uint32_t window);
Result<Frame> read_sealed(const SealedPicture& picture);

}  // namespace vitrine::display
