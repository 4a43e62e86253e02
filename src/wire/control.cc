// SPDX-License-Identifier: Apache-2.0
#include "wire/control.h"

#include <algorithm>

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

template <class IO>
void visit_fields(IO& io, Visited<IO, Network>& network) {
  io.template list<std::uint32_t>(network.allow, kMaxNetworkRules, [&](auto& rule) {
    io(rule);
    io.require(rule.size() <= kMaxRuleSize);
  });
  io(network.index, network.gateway_port);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, IsolationInfo>& m) {
  io.up_to(m.level, Level::container);
  io.up_to(m.floor, Level::container);
  io.template list<std::uint16_t>(m.lost, kMaxControl, [&](auto& one) { io(one); });
  io(m.privileged, m.cgroups);
  io.up_to(m.limits, LimitsLevel::best_effort);
  io.template list<std::uint16_t>(m.best_effort, kMaxControl, [&](auto& one) { io(one); });
  io(m.memory, m.processes, m.cpu, m.landlock_abi);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, IsolationOffer>& m) {
  io.up_to(m.isolation, IsolationKind::vm);
  std::uint32_t bits = m.capabilities.bits();
  io(bits);
  io.require(Capabilities::are_known(bits));
  if constexpr (IO::kReads) m.capabilities = Capabilities::of_bits(bits);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, PoolInfo>& m) {
  io(m.bare, m.loaded, m.seeded, m.empty, m.recycled);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, ZygoteInfo>& m) {
  io.up_to(m.variant, Variant::seeded);
  io(m.environment);
  io.up_to(m.policy, Policy::smolagents);
  io(m.pid, m.warm, m.forks, m.alive);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, EnvironmentInfo>& m) {
  io(m.name);
  io.template list<std::uint16_t>(m.preload, kMaxControl, [&](auto& module) { io(module); });
}

template <class IO>
void visit_fields(IO& io, Visited<IO, KeeperInfo>& m) {
  io(m.instance, m.python, m.isolation, m.egress, m.proxies, m.sessions, m.capacity, m.shells);
  io(m.pools, m.keeper_pid, m.front_pid, m.builder_pid, m.outer_init_pid, m.front_restarts);
  io(m.encoders, m.encoder_cpu_us);
  io.template list<std::uint16_t>(m.zygotes, kMaxControl, [&](auto& one) { io(one); });
  io.template list<std::uint16_t>(m.environments, kMaxControl, [&](auto& one) { io(one); });
  io.template list<std::uint16_t>(m.isolations, kIsolations, [&](auto& one) { io(one); });
}

namespace {

constexpr std::uint8_t kReply = 1;
constexpr std::uint8_t kEvent = 2;

}  // namespace

Fd FdRoles::take(FdRole role, std::vector<Fd>& fds) const {
  const auto found = std::ranges::find(roles, role);
  const auto at = static_cast<std::size_t>(found - roles.begin());
  return at < roles.size() && at < fds.size() ? std::move(fds[at]) : Fd();
}

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
