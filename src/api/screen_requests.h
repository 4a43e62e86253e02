// SPDX-License-Identifier: Apache-2.0
// What clients may ask of a session's screen, read strictly: a picture's query, input events.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "api/fields.h"
#include "display/image_pool.h"
#include "wire/screen.h"

namespace vitrine::api {

struct PictureQuery {
  std::optional<display::Region> region;
  std::string window;  // a title or an id; "" = the whole screen
  display::Format format = display::Format::png;
  double scale = 1;
  bool wait_still = false;
  std::chrono::milliseconds most{500};  // to wait for stillness
  bool cursor = false;
};
std::variant<PictureQuery, Problem> read_picture_query(
    const std::map<std::string, std::string>& query);

// {"events": [{"type": "click", "x": 1, "y": 2}, ...]}. Mistakes are left in `fields`.
wire::screen::Input read_input(Fields& fields);
// Where the pointer is after them, if they say.
std::optional<wire::screen::Point> pointer_after(const wire::screen::Input& input);
// How long they may take at most.
std::chrono::milliseconds time_for(const wire::screen::Input& input);

}  // namespace vitrine::api
