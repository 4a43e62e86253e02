// SPDX-License-Identifier: Apache-2.0
// Lines from a person: with editing and history in a terminal (if libedit was there when this was
// built), plain otherwise.
#pragma once

#include <memory>
#include <string>

#include "app/signals.h"

namespace vitrine::app {

struct Line {
  enum class Kind { text, interrupted, end } kind = Kind::end;
  std::string text = {};  // with its newline
};

class LineReader {
 public:
  virtual ~LineReader() = default;
  // SIGINT gives `interrupted`; the end of input and the other signals give `end`.
  virtual Line read(const char* prompt) = 0;
  virtual void remember(const std::string& code) = 0;  // one entry of the history
};

// `history` is a file, made if missing, for its owner only. Must not outlive `signals`.
std::unique_ptr<LineReader> make_line_reader(Signals& signals, const std::string& history);

}  // namespace vitrine::app
