// SPDX-License-Identifier: Apache-2.0
// Any text into parse_requirement() and resolve_import(): what passes can be no option and no path.
#include <string>

#include "packages/names.h"
#include "packages/requirements.h"
#include "tests/fuzz/input.h"

using vitrine::fuzz::require;
using namespace vitrine::packages;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (auto parsed = parse_requirement(text)) {
    const std::string plain = parsed->text();
    require(!plain.empty() && plain.front() != '-', "it is no option");
    require(plain.find_first_of(" \t\r\n/\\@;#'\"$`|&(){}") == std::string::npos,
            "it is one plain word");
    auto again = parse_requirement(plain);
    require(again && *again == *parsed, "its own text means the same");
  } else {
    for (char c : parsed.error().message) require(c >= 0x20 && c < 0x7f, "an error is printable");
  }
  static const Inventory inventory{.standard = {"typing", "dataclasses"},
                                   .image = {{"numpy", "numpy"}}};
  if (is_module_name(text)) {
    const Import import = resolve_import(text, inventory);
    require(import.meaning != Meaning::package ||
                package_of(text.substr(0, text.find('.'))) == import.package,
            "only what the table knows is installed");
  }
  return 0;
}
