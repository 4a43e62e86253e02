// SPDX-License-Identifier: Apache-2.0
// Takes pictures of screens for whoever asks over HTTP: of all of it, a region, one window.
//
// A session may change its screen for ever, keep its helper from answering, and read its pictures
// slowly: who waits for any of these holds nothing that others wait for.
//
// Ownership: one per server. Threading: the front's one.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/places.h"
#include "api/problem.h"
#include "api/screen_requests.h"
#include "backend/clock.h"
#include "session/registry.h"

namespace vitrine::api {

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
  Places::Place place = {};
  Unsent unsent = {};
};
using Taken = std::variant<Picture, Problem>;
inline constexpr std::size_t kLargePicture = 4u << 20;  // bytes

// `Vitrine-Notes`, if there are any.
std::vector<Header> notes_header(const std::vector<std::string>& notes);
// As the answer: the bytes, and the notes in a header.
Task<void> send(Exchange& exchange, Picture picture, std::vector<Header> headers = {});

class Pictures {
 public:
  explicit Pictures(session::Registry& registry);

  Task<Taken> take(std::shared_ptr<session::Session> session, PictureQuery query);

 private:
  Task<Taken> take_now(std::shared_ptr<session::Session> session, PictureQuery query);
  Task<Status> wait_still(std::shared_ptr<session::Session> session,
                          std::shared_ptr<display::View> view, PictureQuery query);
  Task<Taken> encode(display::Frame frame, display::ImageOptions finish,
                     std::vector<std::string> notes, session::Pictured told,
                     Clock::time_point asked);
  void tell(session::Pictured told, Clock::time_point asked) const;

  session::Registry& registry_;
  Places of_session_;
  Places pictures_;
  Clock::time_point next_look_ = {};  // after one that took long
  display::Frame scratch_ = {};       // of who looks at the moment
  std::shared_ptr<Unsent::Sums> unsent_ = std::make_shared<Unsent::Sums>();
};

}  // namespace vitrine::api
