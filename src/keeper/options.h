// SPDX-License-Identifier: Apache-2.0
// The keeper's command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "keeper/process/process_isolation.h"
#include "model/settings.h"

namespace vitrine::keeper {

struct Options {
  std::string control;  // path of the control socket
  std::string image;    // directory with root/ and manifest.json
  std::string runtime;  // directory with what is laid over images, one folder for each Python
  std::string init;     // the vitrine-init program
  std::string name = "default";  // of this keeper's cgroups: unique per host
  PoolConfig pool;
  std::uint32_t capacity = settings::kCapacity.otherwise;
  std::uint32_t children_per_zygote = settings::kChildrenPerZygote.otherwise;
  std::uint32_t uid_base =
      settings::kUidBase.otherwise;  // as root: host ids of the outer user namespace
  std::int64_t client_uid = -1;      // who else may use the control socket
  std::string front;                 // program that speaks HTTP; empty = none
  std::vector<std::string> front_arguments;
  std::string listen = settings::kListen;
  std::string data;
  std::string tokens;                       // the operator's file, read again on SIGHUP; "" = none
  std::string tokens_reader;                // vitrine
  std::string wheels;                       // directory of wheels that installations see; "" = none
  bool egress = true;                       // whether a session may ask for a network
  std::string egress_program;               // vitrine-egress
  std::vector<std::string> egress_private;  // ranges beside the public ones
  Level floor = Level::full;                // the weakest wall it may serve with
  std::vector<std::string> egress_index;    // ranges for installations of packages only
  bool ephemeral = false;                   // ends with its parent, and its data directory with it
  std::uint32_t shell_fault = 0;            // tests: the n-th system call of a shell fails
  std::uint32_t worker_fault = 0;           // tests: the n-th system call of a worker's entry fails
  std::string faults;  // tests: a file with these and a display's, read each time
  bool help = false;
  bool doctor = false;  // only say what this host offers
};

// Defaults lie beside the program. `invalid_argument` naming the option, the value and the remedy.
Result<Options> parse_options(int argc, char** argv);
std::string help_text();

}  // namespace vitrine::keeper
