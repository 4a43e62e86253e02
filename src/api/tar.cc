// SPDX-License-Identifier: Apache-2.0
#include "api/tar.h"

#include <array>
#include <cstdio>
#include <cstring>

namespace vitrine::api {

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameField = 100;
constexpr std::uint64_t kMaxOctal = 077777777777;  // 11 digits

std::string block(const std::string& name, std::uint64_t size, std::uint64_t seconds, char type) {
  std::array<char, kBlock> header{};
  std::memcpy(header.data(), name.data(), std::min(name.size(), kNameField));
  const auto octal = [&](std::size_t at, std::size_t width, std::uint64_t value) {
    std::snprintf(header.data() + at, width, "%0*llo", static_cast<int>(width - 1),
                  static_cast<unsigned long long>(value));
  };
  octal(100, 8, type == '5' ? 0755 : 0644);
  octal(108, 8, 1000);
  octal(116, 8, 1000);
  octal(124, 12, std::min(size, kMaxOctal));
  octal(136, 12, std::min(seconds, kMaxOctal));
  header[156] = type;
  std::memcpy(header.data() + 257,
              "ustar\0"
              "00",
              8);
  std::memset(header.data() + 148, ' ', 8);
  unsigned sum = 0;
  for (char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(header.data() + 148, 7, "%06o", sum);
  header[155] = ' ';
  return {header.data(), header.size()};
}

// "<length> key=value\n", where the length counts itself.
std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

}  // namespace

std::string tar_padding(std::uint64_t size) {
  return std::string((kBlock - size % kBlock) % kBlock, '\0');
}

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

std::string tar_header(const std::string& name, std::uint64_t size, std::uint64_t modified_ms,
                       char type) {
  std::string records;
  if (name.size() > kNameField) records += pax_record("path", name);
  if (size > kMaxOctal) records += pax_record("size", std::to_string(size));
  std::string out;
  if (!records.empty())
    out = block("pax", records.size(), modified_ms / 1000, 'x') + records +
          tar_padding(records.size());
  return out + block(name, size, modified_ms / 1000, type);
}

}  // namespace vitrine::api
