// SPDX-License-Identifier: Apache-2.0
#include "api/text.h"

namespace vitrine::api {

std::string disposition(std::string_view path) {
  std::string plain;
  std::string exact;
  for (char c : path.substr(path.rfind('/') + 1)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    plain += unreserved || c == ' ' ? c : '_';
    if (unreserved) {
      exact += c;
    } else {
      exact += '%';
      exact += "0123456789ABCDEF"[byte >> 4];
      exact += "0123456789ABCDEF"[byte & 15];
    }
  }
  return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + exact;
}

}  // namespace vitrine::api
