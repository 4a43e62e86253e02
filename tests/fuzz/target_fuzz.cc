// SPDX-License-Identifier: Apache-2.0
// Request targets with their pages, and Range headers.
//
// Input: one byte (0 = a target, else a Range), then the text; of a Range the first eight bytes are
// the file's size.
#include <string>

#include "api/native/requests.h"
#include "api/range.h"
#include "api/target.h"
#include "tests/fuzz/input.h"
#include "wire/messages.h"

using vitrine::fuzz::require;
using namespace vitrine;

namespace {

void check_target(const std::string& text) {
  const auto target = api::parse_target(text);
  if (!target) return;
  require(target->path.starts_with('/'), "a path starts with a slash");
  require(target->path.size() <= text.size() + 1, "decoding makes nothing longer");
  require(text.find('\0') != std::string::npos || target->path.find('\0') == std::string::npos,
          "no NUL is made");
  const auto page = api::read_page(target->query, 50, 500);
  const auto* wanted = std::get_if<api::Page>(&page);
  if (wanted == nullptr)
    return require(wire::is_utf8(api::to_json(std::get<api::Problem>(page))), "a refusal is text");
  require(wanted->limit >= 1 && wanted->limit <= 500, "a limit is in its range");
  const auto cursor = api::read_session_cursor(wanted->after);
  if (const auto* read = std::get_if<api::SessionCursor>(&cursor))
    require(wanted->after.empty() || api::to_text(*read) == wanted->after, "a cursor is itself");
  (void)api::read_history_cursor(wanted->after);
}

void check_range(std::uint64_t size, const std::string& text) {
  const auto range = api::read_range(text, size);
  if (range && !range->unsatisfiable)
    require(range->first <= range->last && range->last < size, "a range lies in the file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  if (in.byte() == 0) {
    check_target(std::string(in.all()));
  } else {
    std::uint64_t file_size = 0;
    for (int i = 0; i < 8; ++i) file_size |= std::uint64_t{in.byte()} << (8 * i);
    check_range(file_size, std::string(in.all()));
  }
  return 0;
}
