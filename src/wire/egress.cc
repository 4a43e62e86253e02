// SPDX-License-Identifier: Apache-2.0
#include "wire/egress.h"

#include <algorithm>

#include "wire/codec.h"
#include "wire/messages.h"

namespace vitrine::wire {

namespace {

constexpr std::size_t kMaxHost = 255;
constexpr std::uint32_t kMaxPrivate = 256;

std::vector<std::string> get_list(Reader& in, std::size_t most) {
  std::vector<std::string> list;
  const std::uint32_t count = in.u32();
  if (count > most) in.fail();
  for (std::uint32_t n = count; n > 0 && !in.failed(); --n) list.push_back(in.text());
  return list;
}

void put_list(Writer& out, const std::vector<std::string>& list) {
  out.u32(static_cast<std::uint32_t>(list.size()));
  for (const std::string& text : list) out.bytes(text);
}

// Plain ASCII only: it is shown to people and models.
std::string get_plain(Reader& in, std::size_t most) {
  std::string text = in.text();
  if (text.size() > most || !std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; }))
    in.fail();
  return text;
}

Decided get_decided(Reader& in) {
  Decided decided;
  decided.connection = in.u64();
  decided.slot = in.u32();
  if (decided.slot >= kEgressSlots) in.fail();
  NetworkEntry& entry = decided.entry;
  entry.host = get_plain(in, kMaxHost);
  entry.port = in.u16();
  const std::uint8_t decision = in.u8();
  if (decision > static_cast<std::uint8_t>(NetworkDecision::failed)) in.fail();
  else entry.decision = NetworkDecision{decision};
  entry.reason = get_plain(in, kMaxReason);
  entry.address = get_plain(in, 64);
  entry.sent = in.u64();
  entry.received = in.u64();
  return decided;
}

}  // namespace

std::string encode_egress_setup(const EgressSetup& setup) {
  Writer out;
  put_list(out, setup.allow);
  put_list(out, setup.private_);
  out.u16(setup.gate).u32(setup.starts);
  return out.take();
}

Result<EgressSetup> decode_egress_setup(std::string_view bytes) {
  Reader in(bytes);
  EgressSetup setup;
  setup.allow = get_list(in, kMaxNetworkRules);
  setup.private_ = get_list(in, kMaxPrivate);
  setup.gate = in.u16();
  setup.starts = in.u32();
  if (!in.complete()) return Error{Code::invalid_argument, "malformed setup of a proxy"};
  return setup;
}

std::string encode_egress(const EgressMessage& message) {
  Writer out;
  out.u8(static_cast<std::uint8_t>(message.index()));
  if (const auto* started = std::get_if<ProxyStarted>(&message)) out.u32(started->starts);
  if (const auto* decided = std::get_if<Decided>(&message)) {
    const NetworkEntry& entry = decided->entry;
    out.u64(decided->connection).u32(decided->slot).bytes(entry.host).u16(entry.port);
    out.u8(static_cast<std::uint8_t>(entry.decision)).bytes(entry.reason).bytes(entry.address);
    out.u64(entry.sent).u64(entry.received);
  }
  if (const auto* closed = std::get_if<Closed>(&message))
    out.u64(closed->connection).u64(closed->sent).u64(closed->received);
  return out.take();
}

Result<EgressMessage> decode_egress(std::string_view packet) {
  Reader in(packet);
  EgressMessage message;
  switch (in.u8()) {
    case 0: message = ProxyStarted{in.u32()}; break;
    case 1: message = get_decided(in); break;
    case 2: {
      Closed closed;
      closed.connection = in.u64();
      closed.sent = in.u64();
      closed.received = in.u64();
      message = closed;
      break;
    }
    case 3: message = ProxyGone{}; break;
    default: in.fail();
  }
  if (!in.complete() || packet.size() > kMaxEgressMessage)
    return Error{Code::invalid_argument, "malformed message of a proxy"};
  return message;
}

}  // namespace vitrine::wire
