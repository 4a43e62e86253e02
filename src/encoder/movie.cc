// SPDX-License-Identifier: Apache-2.0
#include "encoder/movie.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "encoder/palette.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}
#pragma GCC diagnostic pop

namespace vitrine::encoder {

namespace {

namespace w = wire::encoder;

constexpr int kBuffer = 64 * 1024;
constexpr std::uint64_t kTrailer = 16 * 1024;  // upper bound of a file's header and trailer
constexpr std::uint64_t kPerPacket = 64;       // upper bound of the muxer's overhead per packet
constexpr std::int64_t kKeySeconds = 4;        // between key frames

struct Kind {
  const char* muxer;
  const char* encoder;
  const char* codec;  // the name in Started
  AVPixelFormat pixels;
  bool is_video;
};

const Kind& kind_of(w::Format format) {
  static constexpr Kind kKinds[] = {
      {"mp4", "libx264", "h264", AV_PIX_FMT_YUV420P, true},
      {"webm", "libvpx", "vp8", AV_PIX_FMT_YUV420P, true},
      {"apng", "apng", "apng", AV_PIX_FMT_RGB24, false},
      {"gif", "gif", "gif", AV_PIX_FMT_PAL8, false},
  };
  return kKinds[static_cast<std::size_t>(format)];
}

std::string av_text(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  return text;
}

Error failed(const char* doing, int code) {
  return Error{Code::internal, std::string(doing) + " failed: " + av_text(code)};
}

struct Options {
  AVDictionary* dictionary = nullptr;
  Options() = default;
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  ~Options() { av_dict_free(&dictionary); }
  void set(const char* name, const char* value) { av_dict_set(&dictionary, name, value, 0); }
};

void choose(w::Format format, AVCodecContext& codec, Options& options) {
  switch (format) {
    case w::Format::mp4:
      options.set("preset", "veryfast");
      options.set("tune", "zerolatency");  // the encoder holds back no frame
      options.set("crf", "26");
      break;
    case w::Format::webm:
      options.set("deadline", "realtime");
      options.set("cpu-used", "8");
      options.set("lag-in-frames", "0");
      options.set("static-thresh", "100");
      options.set("crf", "20");
      codec.bit_rate = std::int64_t{2} * codec.width * codec.height;
      codec.qmin = 4;
      codec.qmax = 50;
      break;
    case w::Format::apng: options.set("pred", "mixed"); break;
    case w::Format::gif: break;
  }
}

}  // namespace

void Movie::Free::operator()(AVCodecContext* c) const { avcodec_free_context(&c); }
void Movie::Free::operator()(AVFrame* f) const { av_frame_free(&f); }
void Movie::Free::operator()(AVPacket* p) const { av_packet_free(&p); }
void Movie::Free::operator()(SwsContext* s) const { sws_freeContext(s); }
void Movie::Free::operator()(AVFormatContext* f) const {
  if (f->pb != nullptr) {
    av_freep(&f->pb->buffer);
    avio_context_free(&f->pb);
  }
  avformat_free_context(f);
}

Movie::~Movie() = default;

// -- the file

int Movie::write_bytes(void* self, std::uint8_t* bytes, int size) {
  auto& movie = *static_cast<Movie*>(self);
  if (movie.failed_ != 0) return AVERROR(movie.failed_);
  for (int done = 0; done < size;) {
    const ssize_t wrote = ::pwrite(movie.file_, bytes + done, static_cast<std::size_t>(size - done),
                                   static_cast<off_t>(movie.position_));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return AVERROR(movie.failed_ = wrote < 0 ? errno : EIO);
    done += static_cast<int>(wrote);
    movie.position_ += static_cast<std::uint64_t>(wrote);
    movie.end_ = std::max(movie.end_, movie.position_);
  }
  return size;
}

std::int64_t Movie::seek(void* self, std::int64_t offset, int whence) {
  auto& movie = *static_cast<Movie*>(self);
  switch (whence) {
    case SEEK_SET: break;
    case SEEK_CUR: offset += static_cast<std::int64_t>(movie.position_); break;
    case SEEK_END: offset += static_cast<std::int64_t>(movie.end_); break;
    case AVSEEK_SIZE: return static_cast<std::int64_t>(movie.end_);
    default: return AVERROR(EINVAL);
  }
  if (offset < 0) return AVERROR(EINVAL);
  movie.position_ = static_cast<std::uint64_t>(offset);
  return offset;
}

Status Movie::write_error(int code) const {
  if (failed_ == ENOSPC || failed_ == EDQUOT)
    return Error{Code::unavailable, "there is no space left for the recording"};
  if (failed_ == EFBIG) return Error{Code::over_limit, "the recording is as large as it may be"};
  return failed("writing the recording", failed_ != 0 ? AVERROR(failed_) : code);
}

// -- opening

Result<std::unique_ptr<Movie>> Movie::create(int file, const w::Start& wish, int width,
                                             int height) {
  std::unique_ptr<Movie> movie(new Movie(file, wish.max_bytes));
  if (Status opened = movie->open_codec(wish, width, height); !opened)
    return std::move(opened.error());
  if (Status opened = movie->open_file(wish); !opened) return std::move(opened.error());
  return movie;
}

Status Movie::open_codec(const w::Start& wish, int width, int height) {
  const Kind& kind = kind_of(wish.format);
  const int source_width = width, source_height = height;
  int fps = static_cast<int>(wish.fps);
  if (!kind.is_video) {
    fps = std::min(fps, static_cast<int>(w::kMaxPictureFps));
    constexpr int kWidest = w::kMaxPictureWidth;
    if (width > kWidest) {
      height = std::max(1, height * kWidest / width);
      width = kWidest;
    }
  }
  const AVCodec* encoder = avcodec_find_encoder_by_name(kind.encoder);
  if (encoder == nullptr)
    return Error{Code::unsupported, std::string("this libav has no encoder ") + kind.encoder};
  codec_.reset(avcodec_alloc_context3(encoder));
  codec_->width = width;
  codec_->height = height;
  codec_->pix_fmt = kind.pixels;
  codec_->time_base = {1, fps};
  codec_->framerate = {fps, 1};
  codec_->thread_count = 1;
  codec_->max_b_frames = 0;
  codec_->gop_size = fps * 60;  // key frames are chosen by time, see add()
  if (kind.is_video) {
    codec_->color_range = AVCOL_RANGE_MPEG;
    codec_->colorspace = AVCOL_SPC_SMPTE170M;
    codec_->color_primaries = AVCOL_PRI_SMPTE170M;
    codec_->color_trc = AVCOL_TRC_SMPTE170M;
  }
  const AVOutputFormat* muxer = av_guess_format(kind.muxer, nullptr, nullptr);
  if (muxer == nullptr) return Error{Code::unsupported, "this libav cannot write such files"};
  if ((muxer->flags & AVFMT_GLOBALHEADER) != 0) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  Options options;
  choose(wish.format, *codec_, options);
  if (int e = avcodec_open2(codec_.get(), encoder, &options.dictionary); e < 0)
    return failed("starting the encoder", e);

  picture_.reset(av_frame_alloc());
  packet_.reset(av_packet_alloc());
  picture_->format = kind.pixels;
  picture_->width = width;
  picture_->height = height;
  if (int e = av_frame_get_buffer(picture_.get(), 0); e < 0) return failed("allocating", e);
  AVPixelFormat scaled_to = kind.pixels;
  if (kind.pixels == AV_PIX_FMT_PAL8) {
    scaled_to = AV_PIX_FMT_BGR0;
    scaled_.reset(av_frame_alloc());
    scaled_->format = scaled_to;
    scaled_->width = width;
    scaled_->height = height;
    if (int e = av_frame_get_buffer(scaled_.get(), 4); e < 0) return failed("allocating", e);
  }
  scaler_.reset(sws_getContext(source_width, source_height, AV_PIX_FMT_BGR0, width, height,
                               scaled_to, width == source_width ? SWS_POINT : SWS_AREA, nullptr,
                               nullptr, nullptr));
  if (!scaler_) return Error{Code::internal, "this size cannot be converted"};
  what_ = {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height),
           static_cast<std::uint32_t>(fps), kind.codec};
  return ok();
}

Status Movie::open_file(const w::Start& wish) {
  const Kind& kind = kind_of(wish.format);
  AVFormatContext* format = nullptr;
  if (int e = avformat_alloc_output_context2(&format, nullptr, kind.muxer, nullptr); e < 0)
    return failed("preparing the file", e);
  format_.reset(format);
  auto* buffer = static_cast<std::uint8_t*>(av_malloc(kBuffer));
  // Only the APNG muxer seeks back, to write the number of frames.
  format->pb = avio_alloc_context(buffer, kBuffer, 1, this, nullptr, &Movie::write_bytes,
                                  wish.format == w::Format::apng ? &Movie::seek : nullptr);
  if (format->pb == nullptr) return Error{Code::internal, "preparing the file failed"};
  format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_FLUSH_PACKETS | AVFMT_FLAG_BITEXACT;
  AVStream* stream = avformat_new_stream(format, nullptr);
  if (stream == nullptr) return Error{Code::internal, "preparing the file failed"};
  stream->time_base = codec_->time_base;
  stream->avg_frame_rate = codec_->framerate;
  if (int e = avcodec_parameters_from_context(stream->codecpar, codec_.get()); e < 0)
    return failed("preparing the file", e);
  Options options;
  if (wish.format == w::Format::mp4) {
    options.set("movflags", "frag_keyframe+empty_moov+default_base_moof");
    options.set("frag_duration", "1000000");
  } else if (wish.format == w::Format::webm) {
    options.set("live", "1");
    options.set("cluster_time_limit", "1000");
  } else if (wish.format == w::Format::apng) {
    options.set("plays", "0");
  }
  if (int e = avformat_write_header(format, &options.dictionary); e < 0) return write_error(e);
  promised_ = kTrailer;
  return ok();
}

// -- frames

Status Movie::convert(const Frame& frame) {
  if (int e = av_frame_make_writable(picture_.get()); e < 0) return failed("allocating", e);
  AVFrame& to = scaled_ ? *scaled_ : *picture_;
  const std::uint8_t* const rows[] = {frame.pixels.data()};
  const int strides[] = {frame.stride()};
  sws_scale(scaler_.get(), rows, strides, 0, frame.height, to.data, to.linesize);
  if (!scaled_) return ok();

  const auto width = static_cast<std::size_t>(to.width);
  const auto height = static_cast<std::size_t>(to.height);
  std::vector<std::uint8_t> packed(width * height * 4);
  for (std::size_t y = 0; y < height; ++y)
    std::memcpy(&packed[y * width * 4],
                to.data[0] + static_cast<std::ptrdiff_t>(y) * to.linesize[0], width * 4);
  const Paletted paletted = make_palette(packed);
  for (std::size_t y = 0; y < height; ++y)
    std::memcpy(picture_->data[0] + static_cast<std::ptrdiff_t>(y) * picture_->linesize[0],
                &paletted.pixels[y * width], width);
  std::memcpy(picture_->data[1], paletted.colours.data(), sizeof paletted.colours);
  return ok();
}

Status Movie::add(const Frame& frame, std::int64_t tick) {
  if (tick <= last_tick_) return ok();
  if (Status converted = convert(frame); !converted) return converted;
  const bool key = frames_ == 0 || tick - last_key_ >= kKeySeconds * codec_->framerate.num;
  if (key) last_key_ = tick;
  picture_->pts = tick;
  picture_->pict_type = key ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
  last_tick_ = tick;
  return encode(picture_.get());
}

Status Movie::encode(AVFrame* frame) {
  if (int e = avcodec_send_frame(codec_.get(), frame); e < 0) return failed("encoding", e);
  while (true) {
    const int e = avcodec_receive_packet(codec_.get(), packet_.get());
    if (e == AVERROR(EAGAIN) || e == AVERROR_EOF) return ok();
    if (e < 0) return failed("encoding", e);
    const std::uint64_t size = static_cast<std::uint64_t>(packet_->size) + kPerPacket;
    if (promised_ + size > max_bytes_) {
      av_packet_unref(packet_.get());
      return Error{Code::over_limit, "the recording is as large as it may be"};
    }
    promised_ += size;
    packet_->stream_index = 0;
    if (packet_->duration == 0) packet_->duration = 1;
    av_packet_rescale_ts(packet_.get(), codec_->time_base, format_->streams[0]->time_base);
    const int wrote = av_write_frame(format_.get(), packet_.get());
    av_packet_unref(packet_.get());
    if (wrote < 0 || failed_ != 0) return write_error(wrote);
    ++frames_;
  }
}

Status Movie::finish() {
  const Status rest = frames_ > 0 && failed_ == 0 ? encode(nullptr) : ok();
  const int wrote = av_write_trailer(format_.get());
  avio_flush(format_->pb);
  if (!rest) return rest;
  if (wrote < 0 || failed_ != 0) return write_error(wrote);
  return ok();
}

}  // namespace vitrine::encoder
