// SPDX-License-Identifier: Apache-2.0
#include "api/send_picture.h"

namespace vitrine::api {

namespace {

std::string header_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += (out.empty() ? "" : "; ") + note;
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
  return out.substr(0, 1024);
}

}  // namespace

std::vector<Header> notes_header(const std::vector<std::string>& notes) {
  if (notes.empty()) return {};
  return {{"Vitrine-Notes", header_text(notes)}};
}

Task<void> send_picture(Exchange& exchange, service::Picture picture, std::vector<Header> headers) {
  headers.emplace_back("Cache-Control", "no-store");
  for (Header& one : notes_header(picture.notes)) headers.push_back(std::move(one));
  co_await exchange.respond(http::status::ok, picture.type, std::move(picture.bytes),
                            std::move(headers));
}

}  // namespace vitrine::api
