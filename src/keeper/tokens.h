// SPDX-License-Identifier: Apache-2.0
// Reads the operator's tokens file again, when asked by SIGHUP.
//
// The keeper parses nothing of it: the program `vitrine` does, as it did at the start, in a process of
// its own, with the keeper's user id (the front may not be able to read the file). It says on stderr,
// which is the log, what is wrong with it, and then nothing changes; otherwise the front is told.
// Ownership: the process is the keeper's child; it is killed when it takes too long.
#pragma once

#include <functional>
#include <string>

#include "keeper/reaper.h"

namespace vitrine::keeper {

struct TokensConfig {
  std::string program;  // vitrine
  std::string file;     // "" = there is none
  std::string data;     // where the front finds its copy
};

class Tokens {
 public:
  // `good` is called each time that the file was read and found good.
  Tokens(Loop& loop, Reaper& reaper, TokensConfig config, std::function<void()> good)
      : loop_(loop), reaper_(reaper), config_(std::move(config)), good_(std::move(good)) {}

  bool has_file() const { return !config_.file.empty(); }
  // Also while it is being read: then once more after that.
  void read_again();

 private:
  void ended(Ending ending);

  Loop& loop_;
  Reaper& reaper_;
  TokensConfig config_;
  std::function<void()> good_;
  int pid_ = -1;
  bool once_more_ = false;
  TimerId latest_ = 0;
};

}  // namespace vitrine::keeper
