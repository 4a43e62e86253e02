// SPDX-License-Identifier: Apache-2.0
// The commands of the program `vitrine`. Each takes what the command line said and returns the exit
// code; 2 = something was asked wrongly, 125 = Vitrine itself failed, not the code it ran.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace vitrine::app {

inline constexpr int kUsage = 2;
inline constexpr int kOurFailure = 125;

// Prints "vitrine: MESSAGE" and the remedy on stderr; returns `exit_code`.
int refuse(const Error& error, int exit_code);

struct ServeOptions {
  std::map<std::string, std::string> settings;  // by the names of serve_settings.h
  std::vector<std::string> hosts;
  std::string config;      // file; empty = none
  bool ephemeral = false;  // ends with its parent, and its directory with it
};
int serve(const ServeOptions& options);
// What the keeper starts on SIGHUP: checks the tokens file and puts the front's copy into place.
int read_tokens(const std::string& file, const std::string& data);

// Which server, and what a session there may use.
struct Target {
  std::string url;
  std::string token;
  std::string image;  // for a private server
  std::optional<double> timeout_s;
  std::optional<std::uint64_t> memory_mb;
  std::vector<std::string> env;        // NAME=VALUE
  std::vector<std::string> allow;      // HOST[:PORT] that the session may reach
  std::vector<std::string> with = {};  // packages, as requirement strings
  bool allow_sdist = false;            // they may be built
  std::string environment = {};        // empty = the image alone
  std::string policy;                  // empty = the server's
  std::vector<std::string> imports;
};

struct RunOptions {
  Target target;
  std::string file;  // "-" = standard input
  std::optional<std::string> code;
  std::optional<std::string> stdin_file;  // "-" = standard input
  bool json = false;
  std::string screenshot;  // file for a picture of the screen; "" = none
};
int run(const RunOptions& options);

int repl(const Target& target);
int doctor(const std::string& image, bool as_json);
struct BakeOptions {
  std::string image;              // empty = the default
  std::vector<std::string> with;  // requirement strings; none = make the image itself
  std::string name;               // of the environment; empty = after the first package
  std::string preload;            // modules, with commas
  std::string find_links;         // a directory with wheels
  bool no_index = false;          // and nothing else
};
int image_build(bool force, const BakeOptions& options);
int image_info(const std::string& image, bool as_json);
enum class PackagesAction { list, warm, prune };
// `prune` removes what no session uses, until `keep_mb` are left.
int packages(PackagesAction action, const Target& target, std::uint64_t keep_mb, bool as_json);
int completion(const std::string& shell);

}  // namespace vitrine::app
