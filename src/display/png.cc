// SPDX-License-Identifier: Apache-2.0
#include "display/png.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace vitrine::display {

namespace {

// The filters worth trying on screens; the numbers are PNG's.
enum class Filter : std::uint8_t { none = 0, sub = 1, up = 2 };
constexpr std::array kFilters{Filter::none, Filter::sub, Filter::up};
constexpr std::uint32_t kTrialRows = 16;  // thrice: from the top, the middle and the bottom

using Bytes = std::vector<std::uint8_t>;

void to_rgb(const std::uint8_t* from, std::uint8_t* to, std::uint32_t width) {
  for (std::uint32_t x = 0; x < width; ++x) {
    to[0] = from[2];
    to[1] = from[1];
    to[2] = from[0];
    from += 4;
    to += 3;
  }
}

// The rows from `first` on, as PNG filters them: each with the number of its filter before it.
void filter_rows(const Frame& frame, Filter filter, std::uint32_t first, std::uint32_t count,
                 Bytes& out) {
  const std::size_t length = std::size_t{frame.width} * 3;
  Bytes above(length, 0);
  Bytes row(length);
  if (first > 0) to_rgb(frame.row(first - 1), above.data(), frame.width);
  for (std::uint32_t y = first; y < first + count; ++y) {
    const std::size_t at = out.size();
    out.resize(at + 1 + length);
    out[at] = static_cast<std::uint8_t>(filter);
    std::uint8_t* to = out.data() + at + 1;
    if (filter == Filter::none) {
      to_rgb(frame.row(y), to, frame.width);
      continue;
    }
    to_rgb(frame.row(y), row.data(), frame.width);
    if (filter == Filter::sub) {
      std::copy_n(row.begin(), std::min<std::size_t>(3, length), to);
      for (std::size_t i = 3; i < length; ++i)
        to[i] = static_cast<std::uint8_t>(row[i] - row[i - 3]);
    } else {
      for (std::size_t i = 0; i < length; ++i) to[i] = static_cast<std::uint8_t>(row[i] - above[i]);
    }
    std::swap(row, above);
  }
}

// A zlib stream; empty if it failed.
std::string deflate(const Bytes& raw) {
  if (raw.size() > std::numeric_limits<std::uint32_t>::max()) return {};
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  Bytes memory(ISAL_DEF_LVL1_DEFAULT);
  stream.level = 1;
  stream.level_buf = memory.data();
  stream.level_buf_size = static_cast<std::uint32_t>(memory.size());
  stream.gzip_flag = IGZIP_ZLIB;
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  std::string out(raw.size() + raw.size() / 16 + 4096, '\0');
  stream.next_in = const_cast<std::uint8_t*>(raw.data());
  stream.avail_in = static_cast<std::uint32_t>(raw.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  if (isal_deflate_stateless(&stream) != COMP_OK || stream.avail_in != 0) return {};
  out.resize(stream.total_out);
  return out;
}

Filter best_filter(const Frame& frame) {
  Filter best = Filter::none;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  const std::uint32_t rows = std::min(kTrialRows, frame.height);
  const std::uint32_t last = frame.height - rows;
  for (Filter filter : kFilters) {
    Bytes sample;
    for (std::uint32_t first : {std::uint32_t{0}, last / 2, last})
      filter_rows(frame, filter, first, rows, sample);
    const std::size_t size = deflate(sample).size();
    if (size >= least || size == 0) continue;
    best = filter;
    least = size;
  }
  return best;
}

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

void put_chunk(std::string& out, const char* type, std::string_view data) {
  put_u32(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t at = out.size();
  out.append(type, 4).append(data);
  put_u32(out, crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(out.data() + at),
                               out.size() - at));
}

}  // namespace

Result<std::string> encode_png(const Frame& frame) {
  if (frame.width == 0 || frame.height == 0 ||
      frame.pixels.size() != std::size_t{frame.width} * frame.height * 4)
    return Error{Code::internal, "an image without pixels"};
  Bytes raw;
  raw.reserve((std::size_t{frame.width} * 3 + 1) * frame.height);
  filter_rows(frame, best_filter(frame), 0, frame.height, raw);
  const std::string packed = deflate(raw);
  if (packed.empty()) return Error{Code::internal, "compressing an image failed"};
  std::string header;
  put_u32(header, frame.width);
  put_u32(header, frame.height);
  header.append("\x08\x02\x00\x00\x00", 5);  // 8 bits, RGB, deflate, filters by row, not interlaced
  std::string out("\x89PNG\r\n\x1a\n", 8);
  out.reserve(packed.size() + 128);
  put_chunk(out, "IHDR", header);
  put_chunk(out, "IDAT", packed);
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace vitrine::display
