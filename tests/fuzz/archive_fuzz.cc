// SPDX-License-Identifier: Apache-2.0
// Names that session code chose, in a tar stream and in a header: whoever reads them finds the same
// name, and nothing beside it.
//
// Input: one byte (odd = a directory), eight of the size, eight of the time, then the name.
#include <string>

#include "api/tar.h"
#include "api/text.h"
#include "tests/fuzz/input.h"

using vitrine::fuzz::require;
using namespace vitrine;

namespace {

std::uint64_t number(fuzz::Input& in) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= std::uint64_t{in.byte()} << (8 * i);
  return value;
}

// A field of a header, up to its end or the first NUL.
std::string field(std::string_view block, std::size_t at, std::size_t width) {
  const std::string_view whole = block.substr(at, width);
  return std::string(whole.substr(0, whole.find('\0')));
}

void check_block(std::string_view block) {
  require(block.substr(257, 5) == "ustar", "a header says what it is");
  unsigned sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  require(std::stoul(field(block, 148, 7), nullptr, 8) == sum, "a checksum is right");
}

void check_tar(const std::string& name, std::uint64_t size, std::uint64_t time, char type) {
  const std::string header = api::tar_header(name, size, time, type);
  require(header.size() % 512 == 0, "a header is whole blocks");
  std::string_view rest = header;
  std::string found;
  if (rest[156] == 'x') {
    check_block(rest.substr(0, 512));
    const std::size_t length = std::stoul(field(rest, 124, 12), nullptr, 8);
    const std::string_view records = rest.substr(512, length);
    const std::size_t path = records.find(" path=");
    if (path != std::string_view::npos && path < 8) {
      const std::size_t whole = std::stoul(std::string(records));
      require(records[whole - 1] == '\n', "a record ends where it says");
      found = records.substr(path + 6, whole - path - 7);
    }
    rest.remove_prefix(512 + (length + 511) / 512 * 512);
  }
  require(rest.size() == 512 && rest[156] == type, "then comes the entry itself");
  check_block(rest);
  if (found.empty()) found = field(rest, 0, 100);
  require(found == name, "the name is the one that was given");
  require((size + api::tar_padding(size).size()) % 512 == 0, "content is padded to whole blocks");
}

void check_disposition(const std::string& name) {
  const std::string header = api::disposition(name);
  std::size_t quotes = 0;
  for (char c : header) {
    require(static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f,
            "a header is printable");
    quotes += c == '"' ? 1 : 0;
  }
  require(quotes == 2, "a name cannot end its quotes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const char type = (in.byte() & 1) != 0 ? '5' : '0';
  const std::uint64_t length = number(in);
  const std::uint64_t time = number(in);
  const std::string name(in.all());
  check_disposition(name);
  if (!name.empty() && name.find('\0') == std::string::npos) check_tar(name, length, time, type);
  return 0;
}
