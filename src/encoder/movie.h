// SPDX-License-Identifier: Apache-2.0
// Frames in, a file out: libav's encoder and muxer for one recording.
//
// Videos are written in fragments of one second, so that the file can be played whatever happens next.
// Ownership: writes to `file`, which stays the caller's; opens nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "encoder/source.h"
#include "wire/encoder.h"

struct AVCodecContext;
struct AVFormatContext;
struct AVFrame;
struct AVPacket;
struct SwsContext;

namespace vitrine::encoder {

class Movie {
 public:
  // `width` and `height` are those of the frames.
  static Result<std::unique_ptr<Movie>> create(int file, const wire::encoder::Start& wish,
                                               int width, int height);
  ~Movie();
  Movie(const Movie&) = delete;
  Movie& operator=(const Movie&) = delete;

  // `tick` is the frame's number on the constant time grid, and grows. `over_limit` when the file would
  // become too large: then nothing was written. `unavailable` when the disk is full.
  Status add(const Frame& frame, std::int64_t tick);
  // Ends the file, once.
  Status finish();

  std::uint64_t bytes() const { return end_; }
  std::uint64_t frames() const { return frames_; }
  const wire::encoder::Started& what() const { return what_; }

 private:
  Movie(int file, std::uint64_t max_bytes) : file_(file), max_bytes_(max_bytes) {}
  Status open_codec(const wire::encoder::Start& wish, int width, int height);
  Status open_file(const wire::encoder::Start& wish);
  Status convert(const Frame& frame);
  Status encode(AVFrame* frame);
  Status write_error(int code) const;
  static int write_bytes(void* self, std::uint8_t* bytes, int size);
  static std::int64_t seek(void* self, std::int64_t offset, int whence);

  struct Free {
    void operator()(AVCodecContext* c) const;
    void operator()(AVFormatContext* f) const;
    void operator()(AVFrame* f) const;
    void operator()(AVPacket* p) const;
    void operator()(SwsContext* s) const;
  };

  int file_;
  std::uint64_t max_bytes_;
  std::uint64_t position_ = 0;
  std::uint64_t end_ = 0;       // bytes in the file
  std::uint64_t promised_ = 0;  // bytes given to the muxer, including its overhead
  int failed_ = 0;              // errno of the first write that failed
  std::uint64_t frames_ = 0;
  std::int64_t last_tick_ = -1;
  std::int64_t last_key_ = 0;
  wire::encoder::Started what_;
  std::unique_ptr<AVCodecContext, Free> codec_;
  std::unique_ptr<AVFormatContext, Free> format_;
  std::unique_ptr<AVFrame, Free> picture_;
  std::unique_ptr<AVFrame, Free> scaled_;  // before it is reduced to a palette
  std::unique_ptr<AVPacket, Free> packet_;
  std::unique_ptr<SwsContext, Free> scaler_;
};

}  // namespace vitrine::encoder
