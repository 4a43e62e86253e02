// SPDX-License-Identifier: Apache-2.0
// client <-> keeper on the control socket (SEQPACKET): the verbs that need a privileged hand.
//
// Every request with a number other than 0 is answered by exactly one reply with that number;
// requests numbered 0 want no answer. Events come unasked, to the connection that owns the session.
// Each struct lists its fields once (wire/fields.h); its place in the variant is its number on the
// wire: append, never reorder.
//
// Trust: the keeper treats a client as hostile; decode_request() is fuzzed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/packet.h"
#include "base/result.h"
#include "model/environment.h"
#include "model/geometry.h"
#include "model/isolation.h"
#include "model/keeper_info.h"
#include "model/layer.h"
#include "model/limits.h"
#include "model/network.h"
#include "model/session.h"
#include "wire/signals.h"

namespace vitrine::wire {

inline constexpr std::size_t kMaxControl = 64 * 1024;

// What a descriptor beside a reply is.
enum class FdRole : std::uint8_t {
  session_socket = 0,
  stdout_pipe = 1,      // its read end
  stderr_pipe = 2,      // its read end
  cpu_meter = 3,        // a file that tells the session's CPU time, where the host measures it
  memory_meter = 4,     // a file that tells its memory peak
  egress_log = 5,       // with a network: what its proxy decided (wire/egress.h)
  egress_counters = 6,  // and how much went through
  framebuffer = 7,      // for reading
  screen_helper = 8,    // wire/screen.h
};
// The roles of a reply's descriptors, in the order of these.
struct FdRoles {
  std::vector<FdRole> roles;

  // That descriptor of the reply's; empty if it has none.
  Fd take(FdRole role, std::vector<Fd>& fds) const;

  static void visit_fields(auto& io, auto& m) {
    io.template list<std::uint8_t>(m.roles, kMaxPacketFds,
                                   [&](auto& role) { io.up_to(role, FdRole::screen_helper); });
  }
};

inline void visit_layers(auto& io, auto& layers) {
  io.template list<std::uint8_t>(layers, kMaxLayers, [&](auto& name) { io(name); });
  io.require(are_layer_names(layers));
}

// Descriptors of the reply: session_socket, stdout_pipe, stderr_pipe, and as far as there are such the
// two meters and the two of its proxy. `unsupported` for an isolation that the keeper does not have.
struct Create {
  Variant variant = Variant::loaded;
  Lifetime lifetime = Lifetime::session;
  Limits limits;
  std::optional<Network> network = {};  // none = nothing but its own loopback
  Geometry display = {};                // of its screen, which exists once something connects to it
  std::string environment = {};         // model/environment.h; "" = the image alone
  Policy policy = Policy::native;       // of its code: which zygote has what it needs
  IsolationKind isolation = IsolationKind::process;
  // Packages (model/layer.h) that are mounted before the session is answered as opened. A layer that
  // cannot be mounted is an error, and there is no session.
  LayerList layers = {};

  static void visit_fields(auto& io, auto& m) {
    io.up_to(m.variant, Variant::seeded);
    io.up_to(m.lifetime, Lifetime::service);
    io(m.limits);
    io.optional(m.network);
    io(m.display, m.environment);
    io.require(m.environment.empty() || is_environment_name(m.environment));
    io.up_to(m.policy, Policy::smolagents);
    io.up_to(m.isolation, IsolationKind::vm);
    visit_layers(io, m.layers);
  }
};
struct End {  // answered when nothing of the session is left
  std::uint64_t session = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session); }
};
struct Interrupt {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.execution); }
};
struct AskStack {  // the worker answers on the session socket
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.execution); }
};
// The execution must end within `milliseconds` from now: at that moment the keeper asks for its
// stack, interrupts it, and kills the worker if it has not been told `Unwatch` within the grace.
struct Watch {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
  std::uint64_t milliseconds = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.execution, m.milliseconds); }
};
struct Unwatch {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.execution); }
};
// Ends the worker and all it started; the session is dead, its files stay.
struct Kill {
  std::uint64_t session = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session); }
};
// Descriptors of the reply: as for Create.
struct Reset {
  std::uint64_t session = 0;
  Files files = Files::wipe;
  static void visit_fields(auto& io, auto& m) {
    io(m.session);
    io.up_to(m.files, Files::keep);
  }
};
struct List {  // the sessions with greater numbers, in order; kListPage of them at most
  std::uint64_t after = 0;
  static void visit_fields(auto& io, auto& m) { io(m.after); }
};
inline constexpr std::size_t kListPage = 2000;
// Takes over a session that another client had; a frozen one continues. Descriptors of the reply: as for
// Create.
struct Attach {
  std::uint64_t session = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session); }
};
struct AskUsage {
  std::uint64_t session = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session); }
};
struct Info {};

// Files below the session's home, by paths relative to it; also of a dead session. All is done with
// the session's own ids, so what session code may not touch, this may not either.
struct OpenFile {  // descriptor of the reply: the file, for reading; regular files only
  std::uint64_t session = 0;
  std::string path;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.path); }
};
struct NewFile {  // descriptor of the reply: a hidden new file, for writing; parents are made
  std::uint64_t session = 0;
  std::string path;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.path); }
};
struct CommitFile {  // the hidden file, named as its reply said, takes the place of `path`
  std::uint64_t session = 0;
  std::string path;
  std::string hidden;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.path, m.hidden); }
};
struct RemoveFile {  // a file, a link, or a directory with all that is in it
  std::uint64_t session = 0;
  std::string path;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.path); }
};
struct ListFiles {  // `path` "" = the home; entries after `after`, in order of their names
  std::uint64_t session = 0;
  std::string path;
  std::string after;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.path, m.after); }
};
// The picture is taken: an event loop in which the execution sits, or with which it keeps painting, is
// to end. Anything else is left alone.
struct EndLoop {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
  Screen screen = Screen::still;
  static void visit_fields(auto& io, auto& m) {
    io(m.session, m.execution);
    io.up_to(m.screen, Screen::painting);
  }
};
// Stops or continues everything inside, without it noticing.
struct Freeze {
  std::uint64_t session = 0;
  bool frozen = false;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.frozen); }
};
// Descriptors of the reply: framebuffer, and screen_helper if one runs. Also of a dead session. `unavailable` when no X server runs and
// none is to be started.
struct OpenDisplay {
  std::uint64_t session = 0;
  bool start = false;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.start); }
};
// A process that records a display: the descriptor of the reply is its socket (wire/encoder.h). It
// ends with its recording, with the session, and when the client shuts the socket down. It outlives its
// client for a while: the next one takes it over.
struct StartEncoder {
  std::uint64_t session = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session); }
};
// Descriptor of the reply: the same socket, with all that nobody has read. `not_found` = it ended long ago.
struct AttachEncoder {
  std::uint64_t encoder = 0;
  static void visit_fields(auto& io, auto& m) { io(m.encoder); }
};

// The process that adds an index's credentials to the requests of installations: the descriptor of the
// reply is its socket (wire/gateway.h). It ends with this connection, and when another one is requested.
struct StartGateway {};

// The packages (model/layer.h) of a live session from now on, in place of those it has: all of them, not
// only what is new. A reset keeps them.
struct MountLayers {
  std::uint64_t session = 0;
  LayerList layers;
  static void visit_fields(auto& io, auto& m) {
    io(m.session);
    visit_layers(io, m.layers);
    io.require(!m.layers.empty());
  }
};

using Request =
    std::variant<Create, End, Interrupt, AskStack, Watch, Unwatch, Kill, Reset, List, Attach,
                 AskUsage, Info, OpenFile, NewFile, CommitFile, RemoveFile, ListFiles, Freeze,
                 EndLoop, OpenDisplay, StartEncoder, MountLayers, AttachEncoder, StartGateway>;

struct NumberedRequest {
  std::uint32_t number = 0;
  Request request;
};
std::string encode_request(std::uint32_t number, const Request& request);
Result<NumberedRequest> decode_request(std::string_view packet);

struct Opened {  // to Create, Reset, Attach
  std::uint64_t session = 0;
  Source source = Source::warm;
  std::uint64_t overdue = 0;  // Attach: the execution whose deadline has passed; 0 = none
  FdRoles fds = {};
  static void visit_fields(auto& io, auto& m) {
    io(m.session);
    io.up_to(m.source, Source::built);
    io(m.overdue, m.fds);
  }
};
struct Done {};
struct Listed {
  struct Entry {
    std::uint64_t session = 0;
    std::optional<Death> death = {};
    std::uint64_t execution = 0;  // the one being watched; 0 = none known
    bool frozen = false;          // until it is attached, or told to continue
    static void visit_fields(auto& io, auto& m) {
      io(m.session, m.execution, m.frozen);
      io.optional(m.death);
    }
  };
  std::vector<Entry> sessions;
  bool more = false;
  static void visit_fields(auto& io, auto& m) {
    io(m.more);
    io.template list<std::uint32_t>(m.sessions, kMaxControl, [&](auto& entry) { io(entry); });
  }
};
struct Used {
  std::uint64_t cpu_us = 0;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t memory_now_bytes = 0;
  static void visit_fields(auto& io, auto& m) {
    io(m.cpu_us, m.memory_peak_bytes, m.memory_now_bytes);
  }
};
struct FileOpened {  // to OpenFile and NewFile
  std::uint64_t size = 0;
  std::uint64_t modified_ms = 0;  // since 1970
  std::string hidden;             // NewFile: for CommitFile or RemoveFile
  static void visit_fields(auto& io, auto& m) { io(m.size, m.modified_ms, m.hidden); }
};
struct FilesListed {
  struct Entry {
    std::string name;
    FileKind kind = FileKind::file;
    std::uint64_t size = 0;
    std::uint64_t modified_ms = 0;
    static void visit_fields(auto& io, auto& m) {
      io(m.name);
      io.up_to(m.kind, FileKind::other);
      io(m.size, m.modified_ms);
    }
  };
  std::vector<Entry> entries;
  bool more = false;
  static void visit_fields(auto& io, auto& m) {
    io(m.more);
    io.template list<std::uint32_t>(m.entries, kMaxControl, [&](auto& entry) { io(entry); });
  }
};
struct DisplayOpened {
  Geometry geometry;
  std::uint32_t generation = 0;  // counts the X servers that the session has had
  FdRoles fds = {};
  static void visit_fields(auto& io, auto& m) { io(m.geometry, m.generation, m.fds); }
};
struct EncoderStarted {
  std::uint64_t encoder = 0;  // for AttachEncoder
  static void visit_fields(auto& io, auto& m) { io(m.encoder); }
};
struct Died {
  std::uint64_t session = 0;
  Death death;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.death); }
};
struct TimedOut {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.execution); }
};

// An X server runs: something in the session has connected to it, or a client asked for it.
struct DisplayStarted {
  std::uint64_t session = 0;
  static void visit_fields(auto& io, auto& m) { io(m.session); }
};
// It is gone, with every window; the next connection starts another.
struct DisplayDied {
  std::uint64_t session = 0;
  std::string detail;
  static void visit_fields(auto& io, auto& m) { io(m.session, m.detail); }
};

using Reply = std::variant<Error, Done, Opened, Listed, Used, KeeperInfo, FileOpened, FilesListed,
                           DisplayOpened, EncoderStarted>;
using Event = std::variant<Died, TimedOut, DisplayStarted, DisplayDied>;

struct NumberedReply {
  std::uint32_t number = 0;
  Reply reply;
};
using FromKeeper = std::variant<NumberedReply, Event>;

std::string encode_reply(std::uint32_t number, const Reply& reply);
std::string encode_event(const Event& event);
Result<FromKeeper> decode_from_keeper(std::string_view packet);

}  // namespace vitrine::wire
