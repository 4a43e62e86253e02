// SPDX-License-Identifier: Apache-2.0
#include "app/repl_input.h"

#include <cstddef>
#include <string>

namespace vitrine::app {

namespace {

struct Scan {
  int depth = 0;             // of brackets
  bool open_string = false;  // a triple-quoted one
  bool continued = false;    // the last line ends with a backslash
  char last = 0;             // last character of code, comments and blanks apart
  bool block = false;        // some line is indented, or starts with a decorator
};

Scan scan(std::string_view code) {
  Scan found;
  bool line_start = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '\n') {
      line_start = found.depth == 0;
      continue;
    }
    if (line_start) {
      if (c == ' ' || c == '\t' || c == '@') found.block = true;
      line_start = false;
    }
    found.continued = false;
    if (c == '#') {
      while (i + 1 < code.size() && code[i + 1] != '\n') ++i;
    } else if (c == '\\' && i + 1 < code.size() && code[i + 1] == '\n') {
      found.continued = true;
      ++i;
    } else if (c == '"' || c == '\'') {
      const bool triple = code.substr(i, 3) == std::string(3, c);
      std::size_t at = i + (triple ? 3 : 1);
      bool closed = false;
      for (; at < code.size() && !closed; ++at) {
        if (code[at] == '\\') ++at;
        else if (!triple && code[at] == '\n') break;  // a mistake, for Python to tell
        else if (code[at] == c && (!triple || code.substr(at, 3) == code.substr(i, 3)))
          closed = true, at += triple ? 2 : 0;
      }
      if (!closed && triple) return found.open_string = true, found;
      i = at - 1;
      found.last = c;
    } else {
      if (c == '(' || c == '[' || c == '{') ++found.depth;
      if ((c == ')' || c == ']' || c == '}') && found.depth > 0) --found.depth;
      if (c != ' ' && c != '\t') found.last = c;
    }
  }
  return found;
}

bool ends_with_empty_line(std::string_view code) {
  if (code.empty() || code.back() != '\n') return false;
  code.remove_suffix(1);
  const std::size_t start = code.rfind('\n') == code.npos ? 0 : code.rfind('\n') + 1;
  return code.find_first_not_of(" \t", start) == code.npos;
}

}  // namespace

Typed judge(std::string_view code) {
  const Scan found = scan(code);
  if (found.open_string || found.depth > 0 || found.continued) return Typed::wants_more;
  if (ends_with_empty_line(code)) return Typed::complete;
  // A colon in the middle may be a slice or a lambda, so only one at the end counts.
  return found.last == ':' || found.block ? Typed::wants_more : Typed::complete;
}

}  // namespace vitrine::app
