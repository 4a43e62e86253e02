// SPDX-License-Identifier: Apache-2.0
// Values of the model as the native API's JSON.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "session/session.h"

namespace vitrine::api {

// An execution as in the contract; `results` and text as they are, images in base64.
std::string execution_json(const ExecRecord& record);
// The same of one that has finished. What the history has rendered is not rendered again.
std::string answer_json(const session::Execution& execution);
std::string session_json(const session::Session& session);
std::string limits_json(const Limits& limits, std::chrono::milliseconds install_time);
// One line of NDJSON, without the newline; "" for events this surface does not show.
std::string event_json(const session::Event& event);

std::string base64(std::string_view bytes);

}  // namespace vitrine::api
