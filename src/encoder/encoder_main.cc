// SPDX-License-Identifier: Apache-2.0
// vitrine-encoder: makes a video of one display, in a process of its own.
//
// Descriptor 3 is the front's socket (src/wire/encoder.h); the framebuffer file and the file to write
// come through it. It seals itself before it reads the first pixel, and exits with its recording.
// Only this program links the encoders, one of which (x264) is under the GPL.
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>

#include "encoder/recorder.h"
#include "encoder/seal.h"

extern "C" {
#include <libavutil/log.h>
}

int main() {
  using namespace vitrine;
  std::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_NAME, "vitrine-encoder", 0, 0,
          0);                      // a program started from a descriptor has no name
  av_log_set_level(AV_LOG_QUIET);  // nobody reads its log
  if (Status closed = encoder::close_others(); !closed) {
    std::fprintf(stderr, "vitrine-encoder: %s\n", closed.error().describe().c_str());
    return 1;
  }
  encoder::Recorder recorder(3);
  return recorder.run();
}
