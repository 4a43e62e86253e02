// SPDX-License-Identifier: Apache-2.0
#include "wire/control.h"

#include "wire/fields.h"

namespace vitrine::wire {

// The values of base/ and model/ that travel here.

template <class IO>
void visit_fields(IO& io, Visited<IO, Error>& error) {  // its detail is for the log
  io.up_to(error.code, Code::internal);
  io(error.message, error.remedy);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, Death>& death) {
  io.up_to(death.cause, Cause::killed);
  io(death.code);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, Geometry>& geometry) {
  io(geometry.width, geometry.height);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, Limits>& limits) {
  io(limits.memory_bytes, limits.cpu_permille, limits.processes);
  io(limits.disk_bytes, limits.output_bytes);
  io.time(limits.exec_time);
  io.time(limits.idle_time);
}

// A list of rules; an empty one = no network.
template <class IO>
void visit_fields(IO& io, Visited<IO, std::optional<Network>>& network) {
  Network rules = network.value_or(Network{});
  io.template list<std::uint32_t>(rules.allow, kMaxNetworkRules, [&](auto& rule) {
    io(rule);
    io.require(rule.size() <= kMaxRuleSize);
  });
  if constexpr (IO::kReads)
    if (!rules.allow.empty()) network = std::move(rules);
}

namespace {

constexpr std::uint8_t kReply = 1;
constexpr std::uint8_t kEvent = 2;

}  // namespace

std::string encode_request(std::uint32_t number, const Request& request) {
  FieldWriter out;
  out(static_cast<std::uint8_t>(request.index()), number);
  out.fields_of(request);
  return out.take();
}

Result<NumberedRequest> decode_request(std::string_view packet) {
  FieldReader in(packet);
  Result<NumberedRequest> request{NumberedRequest{0, Info{}}};
  std::uint8_t verb = 0;
  in(verb, request->number);
  in.fields_of(request->request, verb);
  if (!in.complete()) return Error{Code::invalid_argument, "malformed control request"};
  return request;
}

std::string encode_reply(std::uint32_t number, const Reply& reply) {
  FieldWriter out;
  out(kReply, number, reply);
  return out.take();
}

std::string encode_event(const Event& event) {
  FieldWriter out;
  out(kEvent, event);
  return out.take();
}

Result<FromKeeper> decode_from_keeper(std::string_view packet) {
  FieldReader in(packet);
  Result<FromKeeper> message{Event{}};
  std::uint8_t kind = 0;
  in(kind);
  if (kind == kReply) {
    auto& reply = message->emplace<NumberedReply>(NumberedReply{0, Done{}});
    in(reply.number, reply.reply);
  } else if (kind == kEvent) {
    in(std::get<Event>(*message));
  } else {
    in.require(false);
  }
  if (!in.complete()) return Error{Code::invalid_argument, "malformed message from the keeper"};
  return message;
}

}  // namespace vitrine::wire
