// SPDX-License-Identifier: Apache-2.0
// Takes screenshots for whoever asks: of the whole screen, a region, one window.
//
// A session may change its screen for ever, keep its helper from answering, and read its pictures
// slowly: who waits for any of these holds nothing that others wait for.
//
// Ownership: one per server. Threading: the front's one.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/clock.h"
#include "display/image_pool.h"
#include "service/client.h"
#include "service/semaphore.h"
#include "service/session_ref.h"
#include "session/registry.h"

namespace vitrine::service {

// Bytes that are encoded and that no client has taken yet, by owner.
class Unsent {
 public:
  using Sums = std::map<std::string, std::size_t>;

  Unsent() = default;
  Unsent(std::shared_ptr<Sums> sums, std::string owner, std::size_t size)
      : sums_(std::move(sums)), owner_(std::move(owner)), size_(size) {
    (*sums_)[owner_] += size_;
  }
  Unsent(Unsent&& other) noexcept = default;
  Unsent& operator=(Unsent&& other) = delete;
  ~Unsent() {
    if (sums_ && ((*sums_)[owner_] -= size_) == 0) sums_->erase(owner_);
  }

 private:
  std::shared_ptr<Sums> sums_;  // null = moved away
  std::string owner_;
  std::size_t size_ = 0;
};

// Keep it until it is sent: it holds a place of its session.
struct Picture {
  std::string type;  // image/png, ...
  std::string bytes;
  std::vector<std::string> notes;  // what is to be known of it
  Semaphore::Place place = {};
  Unsent unsent = {};
};
inline constexpr std::size_t kLargePicture = 4u << 20;  // bytes

struct PictureQuery {
  std::optional<display::Region> region = {};
  std::string window = {};  // a title or an id; "" = the whole screen
  display::Format format = display::Format::png;
  double scale = 1;
  bool wait_still = false;
  std::chrono::milliseconds most{500};  // to wait for stillness
  bool cursor = false;
};

class Screenshots {
 public:
  Screenshots(session::Registry& registry, std::shared_ptr<display::ImagePool> image_pool,
              session::ExecutionObserver& observer);

  // `not_found` once the session is gone; `no_picture`, `window_not_found`, `window_ambiguous`,
  // `invalid_field` for a region outside, `no_capacity`.
  Task<Result<Picture>> take(SessionRef session, PictureQuery query);

 private:
  Task<Result<Picture>> take_now(std::shared_ptr<session::Session> session, PictureQuery query);
  Task<Status> wait_still(std::shared_ptr<session::Session> session,
                          std::shared_ptr<display::View> view, PictureQuery query);
  Task<Result<Picture>> encode(display::Frame frame, display::ImageOptions finish,
                               std::vector<std::string> notes, session::Pictured told,
                               Clock::time_point asked);
  void tell(session::Pictured told, Clock::time_point asked) const;

  session::Registry& registry_;
  std::shared_ptr<display::ImagePool> image_pool_;
  session::ExecutionObserver& observer_;
  Semaphore of_session_;
  Semaphore pictures_;
  Clock::time_point next_look_ = {};  // after one that took long
  display::Frame scratch_ = {};       // of who looks at the moment
  std::shared_ptr<Unsent::Sums> unsent_ = std::make_shared<Unsent::Sums>();
};

}  // namespace vitrine::service
