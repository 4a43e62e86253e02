// SPDX-License-Identifier: Apache-2.0
// Takes pictures of screens for whoever asks over HTTP: of all of it, a region, one window.
//
// Ownership: one per server; a few are taken at once, the others wait. Threading: the front's one.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "api/problem.h"
#include "api/screen_requests.h"
#include "session/changes.h"
#include "session/registry.h"

namespace vitrine::api {

struct Picture {
  std::string type;  // image/png, ...
  std::string bytes;
  std::vector<std::string> notes;  // what is to be known of it
};
using Taken = std::variant<Picture, Problem>;

// `Vitrine-Notes`, if there are any.
std::vector<Header> notes_header(const std::vector<std::string>& notes);
// As the answer: the bytes, and the notes in a header.
Task<void> send(Exchange& exchange, Picture picture, std::vector<Header> headers = {});

class Pictures {
 public:
  explicit Pictures(session::Registry& registry) : registry_(registry) {}

  Task<Taken> take(std::shared_ptr<session::Session> session, PictureQuery query);

 private:
  Task<Taken> take_now(std::shared_ptr<session::Session> session, PictureQuery query);
  Task<Taken> develop(display::Frame frame, display::Finish finish, std::vector<std::string> notes,
                      session::Pictured told, std::chrono::steady_clock::time_point asked);
  void tell(session::Pictured told, std::chrono::steady_clock::time_point asked) const;

  session::Registry& registry_;
  int taking_ = 0;
  std::unique_ptr<session::Changes> changes_ = {};
};

}  // namespace vitrine::api
