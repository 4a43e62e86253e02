// SPDX-License-Identifier: Apache-2.0
#include "keeper/builder_messages.h"

#include <sys/types.h>
#include <unistd.h>

#include "base/packet.h"
#include "wire/codec.h"

namespace vitrine::keeper {

namespace {

enum class Verb : std::uint8_t {
  build_shell = 1,
  start_zygote = 2,
  listen_inside = 3,
  start_display = 4,
  add_layer = 5,
};

BuildShell read_shell(std::uint64_t what, wire::Reader& in) {
  BuildShell request{.shell = what};
  request.slot = in.u32();
  request.disk_bytes = in.u64();
  request.inodes = in.u64();
  request.fail_at = in.u32();
  request.has_cgroup = in.u8() != 0;
  return request;
}

StartZygote read_zygote(std::uint64_t what, wire::Reader& in) {
  StartZygote request{.zygote = what};
  for (std::uint32_t n = in.u32(); n > 0 && !in.failed(); --n) request.argv.push_back(in.text());
  for (std::uint32_t n = in.u32(); n > 0 && !in.failed(); --n)
    request.environment.push_back(in.text());
  request.packages = in.text();
  return request;
}

AddLayer read_layer(std::uint64_t what, wire::Reader& in) {
  AddLayer request{.request = what};
  request.layer = in.text();
  request.environment = in.text();
  return request;
}

StartDisplay read_display(std::uint64_t what, wire::Reader& in) {
  StartDisplay request{.display = what};
  request.slot = in.u32();
  request.geometry.width = in.u32();
  request.geometry.height = in.u32();
  for (std::uint8_t& byte : request.cookie) byte = in.u8();
  request.fail_at = in.u32();
  request.has_helper = in.u8() != 0;
  request.has_cgroup = in.u8() != 0;
  return request;
}

std::size_t least_descriptors(const BuildRequest& request) {
  if (const auto* shell = std::get_if<BuildShell>(&request)) return shell->has_cgroup ? 2 : 1;
  if (const auto* display = std::get_if<StartDisplay>(&request))
    return 2u + (display->has_helper ? 1u : 0u) + (display->has_cgroup ? 1u : 0u);
  return std::holds_alternative<StartZygote>(request) ? 3 : 1;
}

// The doors of v1 cgroups come after those that are always there.
bool may_have_more(const BuildRequest& request) {
  return std::holds_alternative<BuildShell>(request) ||
         std::holds_alternative<StartDisplay>(request);
}

}  // namespace

Asked decode_build_request(std::string_view bytes, std::size_t descriptors) {
  wire::Reader in(bytes);
  const Verb verb{in.u8()};
  const std::uint64_t what = in.u64();
  Error unknown{Code::invalid_argument, "unknown verb"};
  BuildRequest request;
  switch (verb) {
    case Verb::build_shell: request = read_shell(what, in); break;
    case Verb::start_zygote: request = read_zygote(what, in); break;
    case Verb::listen_inside: request = ListenInside{.what = what, .port = in.u16()}; break;
    case Verb::start_display: request = read_display(what, in); break;
    case Verb::add_layer: request = read_layer(what, in); break;
    default: return {what, std::move(unknown)};
  }
  const std::size_t least = least_descriptors(request);
  if (!in.complete() || descriptors < least || (descriptors > least && !may_have_more(request)))
    return {what, std::move(unknown)};
  return {what, std::move(request)};
}

Status answer_cloned(int control, std::uint64_t what, const Result<int>& pid) {
  wire::Writer out;
  out.u64(what).u8(pid ? 1 : 0).bytes(pid ? "" : pid.error().pack());
  const std::string answer = out.take();
  if (send_naming(control, answer, pid ? *pid : ::getpid())) return ok();
  // The child may be dead and reaped: then its number names nobody.
  wire::Writer lost;
  lost.u64(what).u8(0).bytes(Error{Code::unavailable, "it died at once"}.pack());
  return send_packet(control, lost.take());
}

Status answer_listener(int control, std::uint64_t what, const Result<Fd>& listener) {
  wire::Writer out;
  out.u64(what).u8(listener ? 1 : 0).bytes(listener ? "" : listener.error().pack());
  const std::vector<int> fds = listener ? std::vector<int>{listener->get()} : std::vector<int>{};
  return send_packet(control, out.take(), fds);
}

Status send_build_shell(int control, const BuildShell& request, const std::vector<int>& fds) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::build_shell)).u64(request.shell).u32(request.slot);
  out.u64(request.disk_bytes).u64(request.inodes).u32(request.fail_at);
  out.u8(request.has_cgroup ? 1 : 0);
  return send_packet(control, out.take(), fds, Wait::dont);
}

Status send_start_zygote(int control, const StartZygote& request, int socket, int zygote_filter,
                         int worker_filter) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::start_zygote)).u64(request.zygote);
  for (const auto* list : {&request.argv, &request.environment}) {
    out.u32(static_cast<std::uint32_t>(list->size()));
    for (const std::string& text : *list) out.bytes(text);
  }
  out.bytes(request.packages);
  return send_packet(control, out.take(), {socket, zygote_filter, worker_filter}, Wait::dont);
}

Status send_add_layer(int control, const AddLayer& request, int init) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::add_layer)).u64(request.request).bytes(request.layer);
  out.bytes(request.environment);
  return send_packet(control, out.take(), {init}, Wait::dont);
}

Status send_listen_inside(int control, const ListenInside& request, int init) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::listen_inside)).u64(request.what).u16(request.port);
  return send_packet(control, out.take(), {init}, Wait::dont);
}

Status send_start_display(int control, const StartDisplay& request, const std::vector<int>& fds) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::start_display)).u64(request.display).u32(request.slot);
  out.u32(request.geometry.width).u32(request.geometry.height);
  for (const std::uint8_t byte : request.cookie) out.u8(byte);
  out.u32(request.fail_at).u8(request.has_helper ? 1 : 0).u8(request.has_cgroup ? 1 : 0);
  return send_packet(control, out.take(), fds, Wait::dont);
}

Result<Cloned> receive_cloned(int control) {
  Result<Packet> packet = receive_packet(control, 4096, 1, Wait::dont);
  if (!packet) return std::move(packet.error());
  wire::Reader in(packet->bytes);
  Cloned cloned{.what = in.u64()};
  if (in.u8() == 1) cloned.pid = packet->pid;
  if (!packet->fds.empty()) cloned.listener = std::move(packet->fds[0]);
  const std::string error = in.text();
  if (cloned.pid < 0) cloned.error = Error::unpack(error);
  if (!in.complete()) return Error{Code::internal, "the builder answered nonsense"};
  return cloned;
}

}  // namespace vitrine::keeper
