// SPDX-License-Identifier: Apache-2.0
// client <-> keeper on the control socket (SEQPACKET): the verbs that need a privileged hand.
//
// Every request with a number other than 0 is answered by exactly one reply with that number;
// requests numbered 0 want no answer. Events come unasked, to the connection that owns the session.
// Trust: the keeper treats a client as hostile; decode_request() is fuzzed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/limits.h"
#include "model/session.h"

namespace vitrine::wire {

inline constexpr std::size_t kMaxControl = 64 * 1024;

// Descriptors of the reply: session socket, stdout, stderr.
struct Create {
  Variant variant = Variant::loaded;
  Lifetime lifetime = Lifetime::session;
  Limits limits;
};
struct End {  // answered when nothing of the session is left
  std::uint64_t session = 0;
};
struct Interrupt {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
};
struct AskStack {  // the worker answers on the session socket
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
};
// The execution must end within `milliseconds` from now: at that moment the keeper asks for its
// stack, interrupts it, and kills the worker if it has not been told `Unwatch` within the grace.
struct Watch {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
  std::uint64_t milliseconds = 0;
};
struct Unwatch {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
};
// Ends the worker and all it started; the session is dead, its files stay.
struct Kill {
  std::uint64_t session = 0;
};
// Descriptors of the reply: as for Create.
struct Reset {
  std::uint64_t session = 0;
  Files files = Files::wipe;
};
struct List {};
// Takes over a session that another client had. Descriptors of the reply: as for Create.
struct Attach {
  std::uint64_t session = 0;
};
struct AskUsage {
  std::uint64_t session = 0;
};
struct Info {};

using Request = std::variant<Create, End, Interrupt, AskStack, Watch, Unwatch, Kill, Reset, List,
                             Attach, AskUsage, Info>;

struct NumberedRequest {
  std::uint32_t number = 0;
  Request request;
};
std::string encode_request(std::uint32_t number, const Request& request);
Result<NumberedRequest> decode_request(std::string_view packet);

struct Opened {  // to Create, Reset, Attach
  std::uint64_t session = 0;
  Source source = Source::warm;
};
struct Done {};
struct Listed {
  struct Entry {
    std::uint64_t session = 0;
    bool dead = false;
    std::uint64_t execution = 0;  // the one being watched; 0 = none known
  };
  std::vector<Entry> sessions;
};
struct Used {
  std::uint64_t cpu_us = 0;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t memory_now_bytes = 0;
};
struct Told {
  std::string json;
};
struct Died {
  std::uint64_t session = 0;
  Death death;
};
struct TimedOut {
  std::uint64_t session = 0;
  std::uint64_t execution = 0;
};

using Reply = std::variant<Error, Done, Opened, Listed, Used, Told>;
using Event = std::variant<Died, TimedOut>;

struct NumberedReply {
  std::uint32_t number = 0;
  Reply reply;
};
using FromKeeper = std::variant<NumberedReply, Event>;

std::string encode_reply(std::uint32_t number, const Reply& reply);
std::string encode_event(const Event& event);
Result<FromKeeper> decode_from_keeper(std::string_view packet);

}  // namespace vitrine::wire
