// SPDX-License-Identifier: Apache-2.0
// Payloads of every message. What is accepted must mean the same when it is sent on.
//
// Input: one byte (the message's type, as in the frame header), then the payload.
#include <string>

#include "tests/fuzz/input.h"
#include "wire/frame.h"
#include "wire/messages.h"

using vitrine::fuzz::require;
using namespace vitrine::wire;

namespace {

template <class M>
M check(std::string_view payload) {
  vitrine::Result<M> once = M::decode(payload);
  if (!once) {
    require(once.error().code == vitrine::Code::invalid_argument,
            "a bad message is a bad argument");
    return {};
  }
  const std::string encoded = once->encode();
  require(encoded.size() == payload.size(), "nothing is lost or added");
  vitrine::Result<M> twice = M::decode(encoded);
  require(static_cast<bool>(twice), "what was accepted is accepted again");
  require(twice->encode() == encoded, "and means the same");
  return *std::move(once);
}

void check_environment(const Environment& environment) {
  require(environment.size() <= kMaxEnvironment, "the environment is bounded");
  for (const auto& [name, value] : environment)
    require(is_allowed_variable(name, value), "every variable is allowed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vitrine::fuzz::Input in(data, size);
  const Type type{in.byte()};
  const std::string payload(in.all());
  switch (type) {
    case Type::setup: check_environment(check<Setup>(payload).environment); break;
    case Type::execute: {
      const Execute execute = check<Execute>(payload);
      check_environment(execute.environment);
      require(is_utf8(execute.code), "code is text");
      break;
    }
    case Type::input: check<Input>(payload); break;
    case Type::resume: check<Resume>(payload); break;
    case Type::ready: check<Ready>(payload); break;
    case Type::result: {
      const ResultBundle result = check<ResultBundle>(payload);
      require(result.data.size() <= kMaxMimeTypes, "the representations are bounded");
      require(is_utf8(result.metadata) && is_utf8(result.display_id), "names are text");
      break;
    }
    case Type::error: {
      const ErrorReport report = check<ErrorReport>(payload);
      require(is_utf8(report.name + report.value + report.traceback), "errors are text");
      break;
    }
    case Type::input_request: check<InputRequest>(payload); break;
    case Type::package_request: {
      const PackageRequest request = check<PackageRequest>(payload);
      require(request.packages.size() <= kMaxPackages, "the packages are bounded");
      break;
    }
    case Type::package_reply: check<PackageReply>(payload); break;
    case Type::finished: check<Finished>(payload); break;
    case Type::line: check<Line>(payload); break;
    default: (void)is_utf8(payload); break;
  }
  return 0;
}
