// SPDX-License-Identifier: Apache-2.0
#include "wire/control.h"

#include "model/environment.h"
#include "model/layer.h"
#include "wire/codec.h"

namespace vitrine::wire {

namespace {

// Position in the variant is the number on the wire: append, never reorder.
constexpr std::uint8_t kReply = 1;
constexpr std::uint8_t kEvent = 2;

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

template <class E>
void put_enum(Writer& out, E value) {
  out.u8(static_cast<std::uint8_t>(value));
}

void put_death(Writer& out, const Death& death) {
  put_enum(out, death.cause);
  out.i32(death.code);
}

Death get_death(Reader& in) {
  Death death;
  death.cause = get_enum(in, Cause::killed);
  death.code = in.i32();
  return death;
}

void put_limits(Writer& out, const Limits& limits) {
  out.u64(limits.memory_bytes).u32(limits.cpu_permille).u32(limits.processes);
  out.u64(limits.disk_bytes).u64(limits.output_bytes);
  out.u64(static_cast<std::uint64_t>(limits.exec_time.count()));
  out.u64(static_cast<std::uint64_t>(limits.idle_time.count()));
}

std::chrono::milliseconds get_time(Reader& in) {
  const std::uint64_t value = in.u64();
  if (value > (1ull << 62)) in.fail();
  return std::chrono::milliseconds(in.failed() ? 0 : static_cast<std::int64_t>(value));
}

Limits get_limits(Reader& in) {
  Limits limits;
  limits.memory_bytes = in.u64();
  limits.cpu_permille = in.u32();
  limits.processes = in.u32();
  limits.disk_bytes = in.u64();
  limits.output_bytes = in.u64();
  limits.exec_time = get_time(in);
  limits.idle_time = get_time(in);
  return limits;
}

// A count of rules; 0 = no network.
void put_network(Writer& out, const std::optional<Network>& network) {
  out.u32(network ? static_cast<std::uint32_t>(network->allow.size()) : 0);
  if (network)
    for (const std::string& rule : network->allow) out.bytes(rule);
}

std::optional<Network> get_network(Reader& in) {
  const std::uint32_t count = in.u32();
  if (count > kMaxNetworkRules) in.fail();
  if (count == 0 || in.failed()) return std::nullopt;
  Network network;
  for (std::uint32_t n = count; n > 0 && !in.failed(); --n) {
    network.allow.push_back(in.text());
    if (network.allow.back().size() > kMaxRuleSize) in.fail();
  }
  return network;
}

void put_geometry(Writer& out, const Geometry& geometry) {
  out.u32(geometry.width).u32(geometry.height);
}

Geometry get_geometry(Reader& in) {
  const std::uint32_t width = in.u32();
  return {width, in.u32()};
}

std::string get_layer(Reader& in) {
  std::string layer = in.text();
  if (!is_layer_name(layer)) in.fail();
  return layer;
}

struct PutRequest {
  Writer& out;
  void operator()(const Create& r) {
    put_enum(out, r.variant);
    put_enum(out, r.lifetime);
    put_limits(out, r.limits);
    put_network(out, r.network);
    put_geometry(out, r.display);
    out.bytes(r.environment);
    put_enum(out, r.policy);
  }
  void operator()(const End& r) { out.u64(r.session); }
  void operator()(const Interrupt& r) { out.u64(r.session).u64(r.execution); }
  void operator()(const AskStack& r) { out.u64(r.session).u64(r.execution); }
  void operator()(const Watch& r) { out.u64(r.session).u64(r.execution).u64(r.milliseconds); }
  void operator()(const Unwatch& r) { out.u64(r.session).u64(r.execution); }
  void operator()(const Kill& r) { out.u64(r.session); }
  void operator()(const Reset& r) {
    out.u64(r.session);
    put_enum(out, r.files);
  }
  void operator()(const List& r) { out.u64(r.after); }
  void operator()(const Attach& r) { out.u64(r.session); }
  void operator()(const AskUsage& r) { out.u64(r.session); }
  void operator()(const Info&) {}
  void operator()(const OpenFile& r) { out.u64(r.session).bytes(r.path); }
  void operator()(const NewFile& r) { out.u64(r.session).bytes(r.path); }
  void operator()(const CommitFile& r) { out.u64(r.session).bytes(r.path).bytes(r.hidden); }
  void operator()(const RemoveFile& r) { out.u64(r.session).bytes(r.path); }
  void operator()(const ListFiles& r) { out.u64(r.session).bytes(r.path).bytes(r.after); }
  void operator()(const Freeze& r) { out.u64(r.session).u8(r.frozen ? 1 : 0); }
  void operator()(const OpenDisplay& r) { out.u64(r.session).u8(r.start ? 1 : 0); }
  void operator()(const StartEncoder& r) { out.u64(r.session); }
  void operator()(const EndLoop& r) {
    out.u64(r.session).u64(r.execution);
    put_enum(out, r.screen);
  }
  void operator()(const AddLayer& r) { out.u64(r.session).bytes(r.layer); }
  void operator()(const AttachEncoder& r) { out.u64(r.encoder); }
};

Request get_request(Reader& in, std::uint8_t verb) {
  switch (verb) {
    case 0: {
      Create create;
      create.variant = get_enum(in, Variant::seeded);
      create.lifetime = get_enum(in, Lifetime::service);
      create.limits = get_limits(in);
      create.network = get_network(in);
      create.display = get_geometry(in);
      create.environment = in.text();
      if (!create.environment.empty() && !is_environment_name(create.environment)) in.fail();
      create.policy = get_enum(in, Policy::smolagents);
      return create;
    }
    case 1: return End{in.u64()};
    case 2: {
      const std::uint64_t session = in.u64();
      return Interrupt{session, in.u64()};
    }
    case 3: {
      const std::uint64_t session = in.u64();
      return AskStack{session, in.u64()};
    }
    case 4: {
      const std::uint64_t session = in.u64();
      const std::uint64_t execution = in.u64();
      return Watch{session, execution, in.u64()};
    }
    case 5: {
      const std::uint64_t session = in.u64();
      return Unwatch{session, in.u64()};
    }
    case 6: return Kill{in.u64()};
    case 7: {
      const std::uint64_t session = in.u64();
      return Reset{session, get_enum(in, Files::keep)};
    }
    case 8: return List{in.u64()};
    case 9: return Attach{in.u64()};
    case 10: return AskUsage{in.u64()};
    case 11: return Info{};
    case 12: {
      const std::uint64_t session = in.u64();
      return OpenFile{session, in.text()};
    }
    case 13: {
      const std::uint64_t session = in.u64();
      return NewFile{session, in.text()};
    }
    case 14: {
      CommitFile commit;
      commit.session = in.u64();
      commit.path = in.text();
      commit.hidden = in.text();
      return commit;
    }
    case 15: {
      const std::uint64_t session = in.u64();
      return RemoveFile{session, in.text()};
    }
    case 16: {
      ListFiles list;
      list.session = in.u64();
      list.path = in.text();
      list.after = in.text();
      return list;
    }
    case 17: {
      const std::uint64_t session = in.u64();
      return Freeze{session, get_bool(in)};
    }
    case 18: {
      const std::uint64_t session = in.u64();
      const std::uint64_t execution = in.u64();
      return EndLoop{session, execution, get_enum(in, Screen::painting)};
    }
    case 19: {
      const std::uint64_t session = in.u64();
      return OpenDisplay{session, get_bool(in)};
    }
    case 20: return StartEncoder{in.u64()};
    case 21: {
      const std::uint64_t session = in.u64();
      return AddLayer{session, get_layer(in)};
    }
    case 22: return AttachEncoder{in.u64()};
    default: in.fail(); return Info{};
  }
}

struct PutReply {
  Writer& out;
  void operator()(const Error& r) {
    put_enum(out, r.code);
    out.bytes(r.message).bytes(r.remedy);
  }
  void operator()(const Done&) {}
  void operator()(const Opened& r) {
    out.u64(r.session);
    put_enum(out, r.source);
    out.u64(r.overdue);
  }
  void operator()(const Listed& r) {
    out.u8(r.more ? 1 : 0).u32(static_cast<std::uint32_t>(r.sessions.size()));
    for (const auto& entry : r.sessions) {
      out.u64(entry.session).u64(entry.execution).u8(entry.frozen ? 1 : 0);
      out.u8(entry.death ? 1 : 0);
      if (entry.death) put_death(out, *entry.death);
    }
  }
  void operator()(const Used& r) {
    out.u64(r.cpu_us).u64(r.memory_peak_bytes).u64(r.memory_now_bytes);
  }
  void operator()(const Told& r) { out.bytes(r.json); }
  void operator()(const FileOpened& r) { out.u64(r.size).u64(r.modified_ms).bytes(r.hidden); }
  void operator()(const FilesListed& r) {
    out.u8(r.more ? 1 : 0).u32(static_cast<std::uint32_t>(r.entries.size()));
    for (const auto& entry : r.entries) {
      out.bytes(entry.name);
      put_enum(out, entry.kind);
      out.u64(entry.size).u64(entry.modified_ms);
    }
  }
  void operator()(const DisplayOpened& r) {
    put_geometry(out, r.geometry);
    out.u32(r.generation);
  }
  void operator()(const EncoderStarted& r) { out.u64(r.encoder); }
};

Reply get_reply(Reader& in, std::uint8_t kind) {
  switch (kind) {
    case 0: {
      Error error;
      error.code = get_enum(in, Code::internal);
      error.message = in.text();
      error.remedy = in.text();
      return error;
    }
    case 1: return Done{};
    case 2: {
      const std::uint64_t session = in.u64();
      const Source source = get_enum(in, Source::built);
      return Opened{session, source, in.u64()};
    }
    case 3: {
      Listed listed;
      listed.more = get_bool(in);
      for (std::uint32_t n = in.u32(); n > 0 && !in.failed(); --n) {
        Listed::Entry entry;
        entry.session = in.u64();
        entry.execution = in.u64();
        entry.frozen = get_bool(in);
        if (get_bool(in)) entry.death = get_death(in);
        listed.sessions.push_back(entry);
      }
      return listed;
    }
    case 4: {
      Used used;
      used.cpu_us = in.u64();
      used.memory_peak_bytes = in.u64();
      used.memory_now_bytes = in.u64();
      return used;
    }
    case 5: return Told{in.text()};
    case 6: {
      FileOpened opened;
      opened.size = in.u64();
      opened.modified_ms = in.u64();
      opened.hidden = in.text();
      return opened;
    }
    case 7: {
      FilesListed listed;
      listed.more = get_bool(in);
      for (std::uint32_t n = in.u32(); n > 0 && !in.failed(); --n) {
        FilesListed::Entry entry;
        entry.name = in.text();
        entry.kind = get_enum(in, FileKind::other);
        entry.size = in.u64();
        entry.modified_ms = in.u64();
        listed.entries.push_back(std::move(entry));
      }
      return listed;
    }
    case 8: {
      const Geometry geometry = get_geometry(in);
      return DisplayOpened{geometry, in.u32()};
    }
    case 9: return EncoderStarted{in.u64()};
    default: in.fail(); return Done{};
  }
}

}  // namespace

std::string encode_request(std::uint32_t number, const Request& request) {
  Writer out;
  out.u8(static_cast<std::uint8_t>(request.index())).u32(number);
  std::visit(PutRequest{out}, request);
  return out.take();
}

Result<NumberedRequest> decode_request(std::string_view packet) {
  Reader in(packet);
  const std::uint8_t verb = in.u8();
  const std::uint32_t number = in.u32();
  Request request = get_request(in, verb);
  if (!in.complete()) return Error{Code::invalid_argument, "malformed control request"};
  return NumberedRequest{number, request};
}

std::string encode_reply(std::uint32_t number, const Reply& reply) {
  Writer out;
  out.u8(kReply).u32(number).u8(static_cast<std::uint8_t>(reply.index()));
  std::visit(PutReply{out}, reply);
  return out.take();
}

namespace {

struct PutEvent {
  Writer& out;
  void operator()(const Died& e) {
    out.u64(e.session);
    put_death(out, e.death);
  }
  void operator()(const TimedOut& e) { out.u64(e.session).u64(e.execution); }
  void operator()(const DisplayStarted& e) { out.u64(e.session); }
  void operator()(const DisplayDied& e) { out.u64(e.session).bytes(e.detail); }
};

Event get_event(Reader& in, std::uint8_t kind) {
  const std::uint64_t session = in.u64();
  switch (kind) {
    case 0: return Died{session, get_death(in)};
    case 1: return TimedOut{session, in.u64()};
    case 2: return DisplayStarted{session};
    case 3: return DisplayDied{session, in.text()};
    default: in.fail(); return Died{};
  }
}

}  // namespace

std::string encode_event(const Event& event) {
  Writer out;
  out.u8(kEvent).u8(static_cast<std::uint8_t>(event.index()));
  std::visit(PutEvent{out}, event);
  return out.take();
}

Result<FromKeeper> decode_from_keeper(std::string_view packet) {
  Reader in(packet);
  const std::uint8_t kind = in.u8();
  FromKeeper message = Event{};
  if (kind == kReply) {
    const std::uint32_t number = in.u32();
    message = NumberedReply{number, get_reply(in, in.u8())};
  } else if (kind == kEvent) {
    message = get_event(in, in.u8());
  } else {
    in.fail();
  }
  if (!in.complete()) return Error{Code::invalid_argument, "malformed message from the keeper"};
  return message;
}

}  // namespace vitrine::wire
