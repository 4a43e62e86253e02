// SPDX-License-Identifier: Apache-2.0
#include "wire/frame.h"

#include <cstring>

namespace vitrine::wire {

namespace {

constexpr std::uint16_t kMagic = 0x5456;  // "VT"

struct Header {
  std::uint16_t magic;
  std::uint8_t version;
  std::uint8_t type;
  std::uint8_t flags;
  std::uint8_t zero[3];
  std::uint64_t execution;
  std::uint32_t sequence;
  std::uint32_t length;
};
static_assert(sizeof(Header) == kHeaderSize);

Error lie(const char* what) { return Error{Code::invalid_argument, what}; }

}  // namespace

bool is_from_client(Type type) { return type >= Type::setup && type <= Type::package_reply; }
bool is_from_worker(Type type) { return type >= Type::ready && type <= Type::start_failed; }

std::string_view to_string(Type type) {
  switch (type) {
    case Type::setup: return "setup";
    case Type::execute: return "execute";
    case Type::input: return "input";
    case Type::resume: return "resume";
    case Type::captured: return "captured";
    case Type::package_reply: return "package_reply";
    case Type::ready: return "ready";
    case Type::result: return "result";
    case Type::error: return "error";
    case Type::note: return "note";
    case Type::input_request: return "input_request";
    case Type::stack: return "stack";
    case Type::finished: return "finished";
    case Type::painted: return "painted";
    case Type::line: return "line";
    case Type::package_request: return "package_request";
    case Type::start_failed: return "start_failed";
  }
  return "unknown";
}

std::size_t max_message(Type type) {
  switch (type) {
    case Type::setup: return 1 << 20;
    case Type::execute: return 16 << 20;
    case Type::input:
    case Type::package_reply: return 1 << 20;
    case Type::result: return 32 << 20;
    case Type::error: return 1 << 20;
    case Type::note: return kMaxNote;
    case Type::captured:
    case Type::painted: return 0;
    case Type::line: return kLineSize;
    default: return kMaxPayload;
  }
}

std::array<char, kHeaderSize> encode_header(const Frame& frame) {
  const Header header{.magic = kMagic,
                      .version = kVersion,
                      .type = static_cast<std::uint8_t>(frame.type),
                      .flags = frame.flags,
                      .zero = {},
                      .execution = frame.execution,
                      .sequence = frame.sequence,
                      .length = static_cast<std::uint32_t>(frame.payload.size())};
  std::array<char, kHeaderSize> bytes;
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::string encode_frame(const Frame& frame) {
  const auto header = encode_header(frame);
  std::string bytes(header.data(), header.size());
  bytes.append(frame.payload);
  return bytes;
}

namespace {

// The frame that `bytes` begin with.
Result<Frame> first_frame(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header) return lie("a frame is shorter than its header");
  if (bytes.size() > kMaxFrame) return lie("a frame is longer than 64 KiB");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic) return lie("a frame has a wrong magic");
  if (header.version != kVersion) return lie("a frame has an unknown version");
  if ((header.flags & ~(kMore | kRest | kReplay)) != 0) return lie("a frame has an unknown flag");
  if (header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0)
    return lie("a frame has a reserved byte set");
  if (header.length > bytes.size() - sizeof header) return lie("a frame lies about its length");
  const Type type{header.type};
  if (!is_from_client(type) && !is_from_worker(type)) return lie("a frame has an unknown type");
  return Frame{.type = type,
               .flags = header.flags,
               .execution = header.execution,
               .sequence = header.sequence,
               .payload = bytes.substr(sizeof header, header.length)};
}

}  // namespace

Result<Frame> decode_frame(std::string_view datagram) {
  Result<Frame> frame = first_frame(datagram);
  if (frame && kHeaderSize + frame->payload.size() != datagram.size())
    return lie("a frame lies about its length");
  return frame;
}

Result<Frame> Together::next() {
  if (++taken_ > kMaxTogether) return lie("a datagram has too many frames");
  Result<Frame> frame = first_frame(left_);
  if (frame) left_.remove_prefix(kHeaderSize + frame->payload.size());
  return frame;
}

void Assembler::adopt() {
  partial_.reset();
  skipping_ = false;
  any_sequence_ = true;
}

Status Assembler::check_order(const Frame& frame) {
  if (frame.type == Type::ready) {
    if (partial_ || skipping_) return lie("a message was cut off by a ready frame");
    execution_ = frame.execution;
    expected_ = 0;
    any_sequence_ = false;
    return ok();
  }
  if (any_sequence_) {
    execution_ = frame.execution;
    expected_ = frame.sequence;
    skipping_ = frame.rest();
    any_sequence_ = false;
  } else if (frame.execution != execution_) {
    if (partial_ || skipping_) return lie("frames of two executions are mixed");
    execution_ = frame.execution;
    expected_ = 0;
  }
  if (frame.sequence != expected_) return lie("a frame is out of sequence");
  ++expected_;
  return ok();
}

Result<std::optional<Message>> Assembler::add(const Frame& frame) {
  const bool right_way = direction_ == Direction::from_worker ? is_from_worker(frame.type)
                                                              : is_from_client(frame.type);
  if (!right_way) return lie("a frame of this type does not go this way");
  if (frame.type == Type::stack || frame.type == Type::line) {
    if (frame.more() || frame.rest()) return lie("a stack or line frame is always whole");
    if (frame.payload.size() > max_message(frame.type))
      return Error{Code::over_limit, "a message is too long"};
    return std::optional(
        Message{frame.type, frame.execution, frame.sequence, std::string(frame.payload)});
  }
  if (direction_ == Direction::from_client && !frame.rest()) {
    partial_.reset();  // the client before died in the middle of a message
    skipping_ = any_sequence_ = false;
    execution_ = frame.execution;
    expected_ = 0;
  }
  if (Status order = check_order(frame); !order) return std::move(order.error());
  if (frame.type == Type::ready) {
    if (frame.more() || frame.rest()) return lie("a ready frame is always whole");
    return std::optional(Message{frame.type, frame.execution, 0, std::string(frame.payload)});
  }

  if (frame.rest() != (partial_.has_value() || skipping_))
    return lie("a message starts or goes on wrongly");
  if (skipping_) {
    skipping_ = frame.more();
    return std::optional<Message>{};
  }
  if (partial_ && partial_->type != frame.type) return lie("frames of two messages are mixed");
  if (!partial_) partial_ = Message{frame.type, frame.execution, frame.sequence, {}};
  if (partial_->payload.size() + frame.payload.size() > max_message(frame.type))
    return Error{Code::over_limit, "a message is too long"};
  partial_->payload.append(frame.payload);
  if (frame.more()) return std::optional<Message>{};
  std::optional<Message> whole = std::move(partial_);
  partial_.reset();
  return whole;
}

}  // namespace vitrine::wire
