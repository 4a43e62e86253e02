// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/builder_messages.h"

#include <sys/types.h>
#include <unistd.h>

#include "base/packet.h"
#include "wire/fields.h"

namespace vitrine::keeper {

using wire::Visited;

// The fields of each request, its number first.

template <class IO>
void visit_fields(IO& io, Visited<IO, BuildShell>& m) {
  io(m.shell, m.slot, m.disk_bytes, m.inodes, m.fail_at, m.has_cgroup);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, StartZygote>& m) {
  const auto text = [&](auto& one) { io(one); };
  io(m.zygote);
  io.template list<std::uint32_t>(m.argv, wire::kNoBound, text);
  io.template list<std::uint32_t>(m.environment, wire::kNoBound, text);
  io(m.packages);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, ListenInside>& m) {
  io(m.what, m.port);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, StartDisplay>& m) {
  io(m.display, m.slot, m.geometry.width, m.geometry.height);
  for (auto& byte : m.cookie) io(byte);
  io(m.fail_at, m.has_helper, m.has_cgroup);
}

template <class IO>
void visit_fields(IO& io, Visited<IO, MountLayers>& m) {
  io(m.request);
  io.template list<std::uint8_t>(m.layers, kMaxLayers, [&](auto& name) { io(name); });
  io(m.environment);
}

namespace {

template <class T>
Status ask(int control, const T& request, const std::vector<int>& fds) {
  return send_packet(control, wire::pack(BuildRequest(request)), fds, Wait::dont);
}

std::size_t least_descriptors(const BuildRequest& request) {
  if (const auto* shell = std::get_if<BuildShell>(&request)) return shell->has_cgroup ? 2 : 1;
  if (const auto* display = std::get_if<StartDisplay>(&request))
    return 2u + (display->has_helper ? 1u : 0u) + (display->has_cgroup ? 1u : 0u);
  return std::holds_alternative<StartZygote>(request) ? 3 : 1;
}

// The join descriptors of v1 cgroups come after those that are always there.
bool may_have_more(const BuildRequest& request) {
  return std::holds_alternative<BuildShell>(request) ||
         std::holds_alternative<StartDisplay>(request);
}

}  // namespace

Asked decode_build_request(std::string_view bytes, std::size_t descriptors) {
  wire::Reader head(bytes);
  head.u8();  // which of BuildRequest
  const std::uint64_t what = head.u64();
  Result<BuildRequest> request = wire::unpack<BuildRequest>(bytes, "request to the builder");
  if (!request) return {what, std::move(request)};
  const std::size_t least = least_descriptors(*request);
  if (descriptors < least || (descriptors > least && !may_have_more(*request)))
    return {what, Error{Code::invalid_argument, "a request with too few or too many descriptors"}};
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
  return ask(control, request, fds);
}

Status send_start_zygote(int control, const StartZygote& request, int socket, int zygote_filter,
                         int worker_filter) {
  return ask(control, request, {socket, zygote_filter, worker_filter});
}

Status send_mount_layers(int control, const MountLayers& request, int init) {
  return ask(control, request, {init});
}

Status send_listen_inside(int control, const ListenInside& request, int init) {
  return ask(control, request, {init});
}

Status send_start_display(int control, const StartDisplay& request, const std::vector<int>& fds) {
  return ask(control, request, fds);
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
