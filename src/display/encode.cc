// SPDX-License-Identifier: Apache-2.0
#include "display/encode.h"

#include <turbojpeg.h>
#include <webp/encode.h>

#include <memory>

#include "display/png.h"

namespace vitrine::display {

namespace {

constexpr int kJpegQuality = 85;
constexpr float kWebpQuality = 80;

Result<std::string> encode_jpeg(const Frame& frame) {
  struct Destroy {
    void operator()(void* compressor) const { tjDestroy(compressor); }
  };
  struct Free {
    void operator()(unsigned char* bytes) const { tjFree(bytes); }
  };
  const std::unique_ptr<void, Destroy> compressor(tjInitCompress());
  if (!compressor) return Error{Code::internal, "out of memory for a JPEG"};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const int failed = tjCompress2(compressor.get(), frame.pixels.data(),
                                 static_cast<int>(frame.width), 0, static_cast<int>(frame.height),
                                 TJPF_BGRX, &bytes, &size, TJSAMP_420, kJpegQuality, 0);
  const std::unique_ptr<unsigned char, Free> owned(bytes);
  if (failed != 0) return Error{Code::internal, "encoding a JPEG failed"};
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

Result<std::string> encode_webp(const Frame& frame) {
  WebPConfig config;
  WebPPicture picture;
  if (WebPConfigInit(&config) == 0 || WebPPictureInit(&picture) == 0)
    return Error{Code::internal, "another version of libwebp is installed"};
  config.method = 0;
  config.quality = kWebpQuality;
  picture.width = static_cast<int>(frame.width);
  picture.height = static_cast<int>(frame.height);
  struct Release {
    WebPPicture& picture;
    WebPMemoryWriter writer{};
    ~Release() {
      WebPPictureFree(&picture);
      WebPMemoryWriterClear(&writer);
    }
  } held{picture};
  WebPMemoryWriterInit(&held.writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &held.writer;
  const int stride = static_cast<int>(frame.width * 4);
  if (WebPPictureImportBGRX(&picture, frame.pixels.data(), stride) == 0 ||
      WebPEncode(&config, &picture) == 0)
    return Error{Code::internal, "encoding a WebP failed"};
  return std::string(reinterpret_cast<const char*>(held.writer.mem), held.writer.size);
}

}  // namespace

const char* mime_type(Format format) {
  switch (format) {
    case Format::png: return "image/png";
    case Format::jpeg: return "image/jpeg";
    case Format::webp: return "image/webp";
  }
  return "application/octet-stream";
}

Result<std::string> encode(const Frame& frame, Format format) {
  switch (format) {
    case Format::png: return encode_png(frame);
    case Format::jpeg: return encode_jpeg(frame);
    case Format::webp: return encode_webp(frame);
  }
  return Error{Code::internal, "no such format"};
}

}  // namespace vitrine::display
