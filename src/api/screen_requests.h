// SPDX-License-Identifier: Apache-2.0
// What clients may ask of a session's screen, read strictly: a picture's query, input events.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "api/fields.h"
#include "service/screens.h"
#include "service/screenshots.h"

namespace vitrine::api {

std::variant<service::PictureQuery, Problem> read_picture_query(
    const std::map<std::string, std::string>& query);

// {"events": [{"type": "click", "x": 1, "y": 2}, ...]}. Mistakes are left in `fields`.
service::screen::Input read_input(Fields& fields);

}  // namespace vitrine::api
