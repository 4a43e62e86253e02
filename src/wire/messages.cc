// SPDX-License-Identifier: Apache-2.0
#include "wire/messages.h"

#include <algorithm>
#include <array>

#include "wire/fields.h"

namespace vitrine::wire {

void visit_fields(FieldWriter& io, const Environment& environment) {
  io(static_cast<std::uint16_t>(environment.size()));
  for (const auto& [name, value] : environment) io(name, value);
}

void visit_fields(FieldReader& io, Environment& environment) {
  std::uint16_t count = 0;
  io(count);
  io.require(count <= kMaxEnvironment);
  for (; count > 0 && !io.failed(); --count) {
    std::string name;
    std::string value;
    io(name, value);
    io.require(is_allowed_variable(name, value));
    io.require(environment.emplace(std::move(name), std::move(value)).second);
  }
}

std::string Setup::encode() const { return pack(*this); }
Result<Setup> Setup::decode(std::string_view payload) {
  return unpack<Setup>(payload, "setup message");
}

std::string Execute::encode() const { return pack(*this); }
Result<Execute> Execute::decode(std::string_view payload) {
  return unpack<Execute>(payload, "execute message");
}

std::string Input::encode() const { return pack(*this); }
Result<Input> Input::decode(std::string_view payload) {
  return unpack<Input>(payload, "input message");
}

std::string Resume::encode() const { return pack(*this); }
Result<Resume> Resume::decode(std::string_view payload) {
  return unpack<Resume>(payload, "resume message");
}

std::string PackageReply::encode() const { return pack(*this); }
Result<PackageReply> PackageReply::decode(std::string_view payload) {
  return unpack<PackageReply>(payload, "package_reply message");
}

std::string PackageRequest::encode() const { return pack(*this); }
Result<PackageRequest> PackageRequest::decode(std::string_view payload) {
  return unpack<PackageRequest>(payload, "package_request message");
}

std::string Ready::encode() const { return pack(*this); }
Result<Ready> Ready::decode(std::string_view payload) {
  return unpack<Ready>(payload, "ready message");
}

std::string ResultBundle::encode() const { return pack(*this); }
Result<ResultBundle> ResultBundle::decode(std::string_view payload) {
  return unpack<ResultBundle>(payload, "result message");
}

std::string ErrorReport::encode() const { return pack(*this); }
Result<ErrorReport> ErrorReport::decode(std::string_view payload) {
  return unpack<ErrorReport>(payload, "error message");
}

std::string InputRequest::encode() const { return pack(*this); }
Result<InputRequest> InputRequest::decode(std::string_view payload) {
  return unpack<InputRequest>(payload, "input_request message");
}

std::string Line::encode() const { return pack(*this); }
Result<Line> Line::decode(std::string_view payload) {
  return unpack<Line>(payload, "line message");
}

std::string Finished::encode() const { return pack(*this); }
Result<Finished> Finished::decode(std::string_view payload) {
  return unpack<Finished>(payload, "finished message");
}

bool is_allowed_variable(std::string_view name, std::string_view value) {
  static constexpr std::array<std::string_view, 7> kRefused{
      "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT",
      "BASH_ENV",   "ENV",        "GCONV_PATH"};
  if (name.empty() || name.size() > 256 || value.size() > 128 * 1024) return false;
  if (name.find('=') != std::string_view::npos || name.find('\0') != std::string_view::npos)
    return false;
  if (value.find('\0') != std::string_view::npos || !is_utf8(name) || !is_utf8(value)) return false;
  if (name.starts_with("LD_") || name == "GLIBC_TUNABLES") return false;
  return std::ranges::find(kRefused, name) == kRefused.end();
}

bool is_module_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxImport) return false;
  bool starts = true;  // of an identifier
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (starts ? !letter : !letter && c != '.' && (c < '0' || c > '9')) return false;
    starts = c == '.';
  }
  return !starts;
}

}  // namespace vitrine::wire
