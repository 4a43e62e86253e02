// SPDX-License-Identifier: Apache-2.0
#include "session/output.h"

#include <cstring>

namespace vitrine::session {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the well-formed character at the start of `text`; 0 = none; -1 = cut off at the end.
int character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t size = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) size = 2;
  else if (first >= 0xE0 && first <= 0xEF) size = 3;
  else if (first >= 0xF0 && first <= 0xF4) size = 4;
  else return 0;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;  // no surrogates
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) return -1;
    if (byte(i) < low || byte(i) > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return static_cast<int>(size);
}

// How many bytes of ASCII `text` begins with, but for the last few: most output is nothing else, and it
// is looked at eight bytes at a time.
std::size_t plain(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  return at;
}

// The largest cut at or before `at` that splits no character.
std::size_t cut(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

std::string Output::decode(std::string_view bytes) {
  std::string joined;
  if (!pending_.empty()) {
    joined = std::move(pending_) + std::string(bytes);
    pending_.clear();
    bytes = joined;
  }
  std::string text;
  text.reserve(bytes.size());
  std::size_t good = 0;  // well-formed bytes that are not in `text` yet
  while (good < bytes.size()) {
    good += plain(bytes.substr(good));
    if (good == bytes.size()) break;
    const int size = character(bytes.substr(good));
    if (size > 0) {
      good += static_cast<std::size_t>(size);
      continue;
    }
    if (size < 0) {
      pending_ = bytes.substr(good);
      break;
    }
    text.append(bytes.substr(0, good)).append(kReplacement);
    bytes.remove_prefix(good + 1);
    good = 0;
  }
  return text.append(bytes.substr(0, good));
}

void Output::keep_tail(std::string_view text) {
  tail_ += text;
  if (tail_.size() <= 2 * tail_limit_) return;  // trimmed now and then, not byte by byte
  std::size_t from = tail_.size() - tail_limit_;
  while (from < tail_.size() && (static_cast<unsigned char>(tail_[from]) & 0xC0) == 0x80) ++from;
  dropped_ += from;
  tail_.erase(0, from);
}

std::string Output::add(std::string_view bytes) {
  std::string text = decode(bytes);
  if (tail_.empty() && head_.size() + text.size() <= head_limit_) {
    head_ += text;
    return text;
  }
  if (!tail_.empty() || dropped_ > 0) {
    keep_tail(text);
    return "";
  }
  const std::size_t fits = cut(text, head_limit_ - head_.size());
  std::string shown = text.substr(0, fits);
  head_ += shown;
  keep_tail(std::string_view(text).substr(fits));
  return shown;
}

std::string Output::mark() const {
  return dropped_ == 0 ? "" : "\n... " + std::to_string(dropped_) + " bytes left out ...\n";
}

std::string Output::finish() {
  if (!pending_.empty()) {
    pending_.clear();
    if (tail_.empty() && dropped_ == 0 && head_.size() + kReplacement.size() <= head_limit_) {
      head_ += kReplacement;
      return std::string(kReplacement);
    }
    keep_tail(kReplacement);
  }
  if (tail_.size() > tail_limit_) {
    std::size_t from = tail_.size() - tail_limit_;
    while (from < tail_.size() && (static_cast<unsigned char>(tail_[from]) & 0xC0) == 0x80) ++from;
    dropped_ += from;
    tail_.erase(0, from);
  }
  return mark() + tail_;
}

std::string Output::text() const { return head_ + mark() + tail_; }

}  // namespace vitrine::session
