// SPDX-License-Identifier: Apache-2.0
// What those who watch an execution see of it, in order; the last is always FinishedEvent.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "model/execution.h"
#include "wire/messages.h"

namespace vitrine::session {

enum class Stream { out, err };
using ResultKind = wire::ResultKind;

struct OutputEvent {
  Stream stream = Stream::out;
  std::string text;
};
struct ResultEvent {
  wire::ResultKind kind = wire::ResultKind::value;
  std::string display_id;
  MimeBundle data;
  std::string metadata;
};
struct ErrorEvent {
  ExecError error;
};
struct NoteEvent {
  std::string text;
};
// An installation of packages that the code requested goes on.
struct ProgressEvent {
  std::string text;
};
struct InputEvent {
  std::string prompt;
  bool password = false;
};
struct ScreenshotEvent {
  std::optional<std::string> png;
};
struct FrameEvent {
  StripFrame frame;
};
struct FinishedEvent {};

using Event = std::variant<OutputEvent, ResultEvent, ErrorEvent, NoteEvent, ProgressEvent,
                           InputEvent, ScreenshotEvent, FrameEvent, FinishedEvent>;

}  // namespace vitrine::session
