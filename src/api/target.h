// SPDX-License-Identifier: Apache-2.0
// What a request asks for, out of its first line: path and query, decoded.
//
// Trust: hostile text. Nothing that is badly encoded is guessed at.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vitrine::api {

struct Target {
  std::string authority;  // of the absolute form, "http://authority/..."; else ""
  std::string path;       // starts with '/'
  std::map<std::string, std::string> query;  // of a repeated name the last counts
};

// Origin form ("/path?query") or absolute form. nullopt if it is neither, or badly encoded.
std::optional<Target> parse_target(std::string_view text);

// "%41" -> "A"; nullopt for a broken escape or a NUL.
std::optional<std::string> decode_percent(std::string_view text);

}  // namespace vitrine::api
