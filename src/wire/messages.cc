// SPDX-License-Identifier: Apache-2.0
#include "wire/messages.h"

#include <algorithm>
#include <array>

#include "wire/codec.h"

namespace vitrine::wire {

namespace {

Error malformed(const char* what) {
  return Error{Code::invalid_argument, std::string("malformed ") + what + " message"};
}

void put_environment(Writer& out, const Environment& environment) {
  out.u16(static_cast<std::uint16_t>(environment.size()));
  for (const auto& [name, value] : environment) out.bytes(name).bytes(value);
}

Environment get_environment(Reader& in) {
  Environment environment;
  const std::uint16_t count = in.u16();
  if (count > kMaxEnvironment) in.fail();
  for (std::uint16_t i = 0; i < count && !in.failed(); ++i) {
    std::string name = in.text();
    std::string value = in.text();
    if (!is_allowed_variable(name, value)) in.fail();
    if (!environment.emplace(std::move(name), std::move(value)).second) in.fail();
  }
  return environment;
}

std::string get_utf8(Reader& in) {
  const std::string_view text = in.bytes();
  if (!is_utf8(text)) in.fail();
  return std::string(text);
}

// An enum that counts from 0 to `last`.
template <class E>
E get_enum(Reader& in, E last) {
  const std::uint8_t value = in.u8();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return in.failed() ? E{} : E{value};
}

bool get_bool(Reader& in) {
  const std::uint8_t value = in.u8();
  if (value > 1) in.fail();
  return value == 1;
}

}  // namespace

std::string Setup::encode() const {
  Writer out;
  put_environment(out, environment);
  out.u8(seed.has_value() ? 1 : 0).u64(seed.value_or(0));
  out.u8(static_cast<std::uint8_t>(policy)).u16(static_cast<std::uint16_t>(imports.size()));
  for (const std::string& name : imports) out.bytes(name);
  return out.take();
}

Result<Setup> Setup::decode(std::string_view payload) {
  Reader in(payload);
  Setup setup;
  setup.environment = get_environment(in);
  const bool seeded = get_bool(in);
  const std::uint64_t seed = in.u64();
  if (seeded) setup.seed = seed;
  if (!seeded && seed != 0) in.fail();
  setup.policy = get_enum(in, Policy::smolagents);
  const std::uint16_t count = in.u16();
  if (count > kMaxImports) in.fail();
  for (std::uint16_t i = 0; i < count && !in.failed(); ++i) {
    std::string name = in.text();
    if (!is_module_name(name)) in.fail();
    setup.imports.push_back(std::move(name));
  }
  if (!in.complete()) return malformed("setup");
  return setup;
}

std::string Execute::encode() const {
  Writer out;
  out.bytes(code).u8(static_cast<std::uint8_t>(stdin_mode)).bytes(stdin_bytes);
  put_environment(out, environment);
  out.u64(result_limit).u32(render_ms).u32(line_ms);
  return out.take();
}

Result<Execute> Execute::decode(std::string_view payload) {
  Reader in(payload);
  Execute execute;
  execute.code = get_utf8(in);
  execute.stdin_mode = get_enum(in, Stdin::interactive);
  execute.stdin_bytes = in.text();
  execute.environment = get_environment(in);
  execute.result_limit = in.u64();
  execute.render_ms = in.u32();
  execute.line_ms = in.u32();
  if (!in.complete()) return malformed("execute");
  return execute;
}

std::string Line::encode() const {
  Writer out;
  out.u32(number);
  return out.take();
}

Result<Line> Line::decode(std::string_view payload) {
  Reader in(payload);
  const Line line{in.u32()};
  if (!in.complete()) return malformed("line");
  return line;
}

std::string Input::encode() const {
  Writer out;
  out.u8(end_of_file ? 1 : 0).bytes(bytes);
  return out.take();
}

Result<Input> Input::decode(std::string_view payload) {
  Reader in(payload);
  Input input;
  input.end_of_file = get_bool(in);
  input.bytes = in.text();
  if (!in.complete()) return malformed("input");
  return input;
}

std::string Resume::encode() const {
  Writer out;
  out.u64(token);
  return out.take();
}

Result<Resume> Resume::decode(std::string_view payload) {
  Reader in(payload);
  const Resume resume{in.u64()};
  if (!in.complete()) return malformed("resume");
  return resume;
}

std::string Ready::encode() const {
  Writer out;
  out.bytes(python).u64(last_execution).u64(token);
  return out.take();
}

Result<Ready> Ready::decode(std::string_view payload) {
  Reader in(payload);
  Ready ready;
  ready.python = get_utf8(in);
  ready.last_execution = in.u64();
  ready.token = in.u64();
  if (!in.complete() || ready.python.size() > 64) return malformed("ready");
  return ready;
}

std::string ResultBundle::encode() const {
  Writer out;
  out.u8(static_cast<std::uint8_t>(kind)).bytes(display_id);
  out.u16(static_cast<std::uint16_t>(data.size()));
  for (const auto& [mime, bytes] : data) out.bytes(mime).bytes(bytes);
  out.bytes(metadata);
  return out.take();
}

Result<ResultBundle> ResultBundle::decode(std::string_view payload) {
  Reader in(payload);
  ResultBundle result;
  result.kind = get_enum(in, ResultKind::clear_output);
  result.display_id = get_utf8(in);
  if (result.display_id.size() > 256) in.fail();
  const std::uint16_t count = in.u16();
  if (count > kMaxMimeTypes) in.fail();
  for (std::uint16_t i = 0; i < count && !in.failed(); ++i) {
    std::string mime = get_utf8(in);
    if (mime.empty() || mime.size() > 128) in.fail();
    result.data.emplace_back(std::move(mime), in.text());
  }
  result.metadata = get_utf8(in);
  if (!in.complete()) return malformed("result");
  return result;
}

std::string ErrorReport::encode() const {
  Writer out;
  out.bytes(name).bytes(value).bytes(traceback);
  return out.take();
}

Result<ErrorReport> ErrorReport::decode(std::string_view payload) {
  Reader in(payload);
  ErrorReport report;
  report.name = get_utf8(in);
  report.value = get_utf8(in);
  report.traceback = get_utf8(in);
  if (!in.complete()) return malformed("error");
  return report;
}

std::string InputRequest::encode() const {
  Writer out;
  out.bytes(prompt).u8(password ? 1 : 0);
  return out.take();
}

Result<InputRequest> InputRequest::decode(std::string_view payload) {
  Reader in(payload);
  InputRequest request;
  request.prompt = get_utf8(in);
  request.password = get_bool(in);
  if (!in.complete()) return malformed("input_request");
  return request;
}

std::string Finished::encode() const {
  Writer out;
  out.u8(static_cast<std::uint8_t>(claim)).u8(exit_code);
  return out.take();
}

Result<Finished> Finished::decode(std::string_view payload) {
  Reader in(payload);
  Finished finished;
  finished.claim = get_enum(in, Claim::interrupted);
  finished.exit_code = in.u8();
  if (!in.complete()) return malformed("finished");
  return finished;
}

bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  while (p < end) {
    if (*p < 0x80) {
      ++p;
      continue;
    }
    int extra = 0;
    std::uint32_t point = 0;
    std::uint32_t least = 0;
    if ((*p & 0xE0) == 0xC0) extra = 1, point = *p & 0x1F, least = 0x80;
    else if ((*p & 0xF0) == 0xE0) extra = 2, point = *p & 0x0F, least = 0x800;
    else if ((*p & 0xF8) == 0xF0) extra = 3, point = *p & 0x07, least = 0x10000;
    else return false;
    if (end - p <= extra) return false;
    for (int i = 1; i <= extra; ++i) {
      if ((p[i] & 0xC0) != 0x80) return false;
      point = (point << 6) | (p[i] & 0x3F);
    }
    if (point < least || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
    p += extra + 1;
  }
  return true;
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
