// SPDX-License-Identifier: Apache-2.0
// What the messages on the session socket say. Payload layouts: docs/session-socket.md.
//
// Each struct lists its fields and their bounds once (wire/fields.h), and has encode() and a decode
// that accepts exactly what encode() makes (variables in any order): `invalid_argument` for anything
// missing, left over, given twice, out of range or (where text is promised) not UTF-8.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/session.h"
#include "wire/utf8.h"

namespace vitrine::wire {

inline constexpr std::size_t kMaxEnvironment = 256;  // variables in one message
inline constexpr std::size_t kMaxMimeTypes = 64;     // representations of one result
inline constexpr std::size_t kMaxImports = 256;      // modules a policy is told to allow
inline constexpr std::size_t kMaxImport = 128;       // bytes of one's name
inline constexpr std::size_t kMaxPackages = 64;      // that one message requests
inline constexpr std::size_t kMaxPackage = 512;      // bytes of one of them
inline constexpr std::size_t kMaxPins = 4096;        // packages that one message tells

using Environment = std::map<std::string, std::string>;

// A valid variable name and value: no '=', no NUL, and none that changes how a program is loaded.
bool is_allowed_variable(std::string_view name, std::string_view value);

// The name of a module: identifiers in ASCII with dots between, at most kMaxImport bytes.
bool is_module_name(std::string_view name);

// client -> worker, before the first execution: what is particular about this session.
struct Setup {
  Environment environment;
  std::optional<std::uint64_t> seed;
  Policy policy = Policy::native;
  std::vector<std::string> imports;  // modules that the policy allows besides its own
  bool packages_first = false;       // the session's packages come before the image's own versions

  static void visit_fields(auto& io, auto& m) {
    io(m.environment);
    io.padded(m.seed);
    io.up_to(m.policy, Policy::smolagents);
    io.template list<std::uint16_t>(m.imports, kMaxImports, [&](auto& name) {
      io(name);
      io.require(is_module_name(name));
    });
    io(m.packages_first);
  }
  std::string encode() const;
  static Result<Setup> decode(std::string_view payload);
};

enum class Stdin : std::uint8_t { none = 0, given = 1, interactive = 2 };

// client -> worker.
struct Execute {
  std::string code;  // UTF-8
  Stdin stdin_mode = Stdin::none;
  std::string stdin_bytes;
  Environment environment;
  std::uint64_t result_limit = 1 << 20;  // bytes of all results together
  std::uint32_t render_ms = 0;           // time to paint after the code; 0 = nobody looks
  std::uint32_t line_ms = 0;             // how often to tell the line that runs; 0 = never

  static void visit_fields(auto& io, auto& m) {
    io.text(m.code);
    io.up_to(m.stdin_mode, Stdin::interactive);
    io(m.stdin_bytes, m.environment, m.result_limit, m.render_ms, m.line_ms);
  }
  std::string encode() const;
  static Result<Execute> decode(std::string_view payload);
};

// client -> worker, the answer to an InputRequest.
struct Input {
  bool end_of_file = false;
  std::string bytes;

  static void visit_fields(auto& io, auto& m) { io(m.end_of_file, m.bytes); }
  std::string encode() const;
  static Result<Input> decode(std::string_view payload);
};

// client -> worker, after it took the session over: repeat the last execution.
struct Resume {
  std::uint64_t token = 0;  // comes back in the answer: those to clients before it are told apart

  static void visit_fields(auto& io, auto& m) { io(m.token); }
  std::string encode() const;
  static Result<Resume> decode(std::string_view payload);
};

// client -> worker, the answer to a PackageRequest. `code` "" = they are there, to be imported.
struct PackageReply {
  std::vector<std::string> added;  // the pins of all that the session has
  std::string code;                // why there are none (docs/packages.md)
  std::string detail;
  std::string remedy;

  static void visit_fields(auto& io, auto& m) {
    io.template list<std::uint16_t>(m.added, kMaxPins, [&](auto& pin) { io.text(pin); });
    io.text(m.code);
    io.text(m.detail);
    io.text(m.remedy);
  }

  std::string encode() const;
  static Result<PackageReply> decode(std::string_view payload);
};

// worker -> client (and, before the hand-over, to the keeper).
struct Ready {
  std::string python;                // "3.11.2"
  std::uint64_t last_execution = 0;  // 0 = none yet
  std::uint64_t token = 0;           // of the Resume that it answers; 0 = none

  static void visit_fields(auto& io, auto& m) {
    io.text(m.python, 64);
    io(m.last_execution, m.token);
  }
  std::string encode() const;
  static Result<Ready> decode(std::string_view payload);
};

enum class ResultKind : std::uint8_t {
  value = 0,
  display = 1,
  update_display = 2,
  clear_output = 3
};

// worker -> client.
struct ResultBundle {
  ResultKind kind = ResultKind::value;
  std::string display_id;
  std::vector<std::pair<std::string, std::string>> data;  // MIME type -> bytes
  std::string metadata = "{}";                            // JSON

  static void visit_fields(auto& io, auto& m) {
    io.up_to(m.kind, ResultKind::clear_output);
    io.text(m.display_id, 256);
    io.template list<std::uint16_t>(m.data, kMaxMimeTypes, [&](auto& one) {
      io.text(one.first, 128);
      io.require(!one.first.empty());
      io(one.second);
    });
    io.text(m.metadata);
  }
  std::string encode() const;
  static Result<ResultBundle> decode(std::string_view payload);
};

// worker -> client. All text is UTF-8.
struct ErrorReport {
  std::string name;
  std::string value;
  std::string traceback;

  static void visit_fields(auto& io, auto& m) {
    io.text(m.name);
    io.text(m.value);
    io.text(m.traceback);
  }
  std::string encode() const;
  static Result<ErrorReport> decode(std::string_view payload);
};

struct InputRequest {
  std::string prompt;
  bool password = false;

  static void visit_fields(auto& io, auto& m) {
    io.text(m.prompt);
    io(m.password);
  }
  std::string encode() const;
  static Result<InputRequest> decode(std::string_view payload);
};

// worker -> client: the code of this execution wants packages, and waits for a PackageReply.
struct PackageRequest {
  std::vector<std::string> packages;  // as a person writes them: "polars>=1"

  static void visit_fields(auto& io, auto& m) {
    io.template list<std::uint16_t>(m.packages, kMaxPackages,
                                    [&](auto& name) { io.text(name, kMaxPackage); });
  }

  std::string encode() const;
  static Result<PackageRequest> decode(std::string_view payload);
};

// worker -> client, outside the order of the others: the line of the execution's own code that runs, from
// 1 on; 0 = none of them does.
struct Line {
  std::uint32_t number = 0;

  static void visit_fields(auto& io, auto& m) { io(m.number); }
  std::string encode() const;
  static Result<Line> decode(std::string_view payload);
};

// What the worker says of an execution that came to its end. Timeouts, memory and death are never
// the worker's to tell: those come from the keeper.
enum class Claim : std::uint8_t { ok = 0, exception = 1, policy = 2, interrupted = 3 };

struct Finished {
  Claim claim = Claim::ok;
  std::uint8_t exit_code = 0;

  static void visit_fields(auto& io, auto& m) {
    io.up_to(m.claim, Claim::interrupted);
    io(m.exit_code);
  }
  std::string encode() const;
  static Result<Finished> decode(std::string_view payload);
};

}  // namespace vitrine::wire
