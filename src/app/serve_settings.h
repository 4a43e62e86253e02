// SPDX-License-Identifier: Apache-2.0
// What `vitrine serve` can be told: one table for the flags, the configuration file and the checks.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace vitrine::app {

enum class Kind { text, whole };

struct Setting {
  const char* name;  // in the file; as a flag with - instead of _
  Kind kind;
  const char* value;  // how help calls it
  const char* help;
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

inline constexpr std::array kSettings{
    Setting{"listen", Kind::text, "ADDRESS:PORT", "where it serves [127.0.0.1:8000]"},
    Setting{"data", Kind::text, "DIR", "its own directory; made if missing"},
    Setting{"image", Kind::text, "DIR", "runtime image [as made by ./dev image]"},
    Setting{"pool", Kind::whole, "N", "warm workers with numpy, pandas, pyplot [4]", 0, 1000},
    Setting{"pool_bare", Kind::whole, "N", "warm workers with nothing imported [0]", 0, 1000},
    Setting{"pool_seeded", Kind::whole, "N", "warm workers with a fixed hash seed [0]", 0, 1000},
    Setting{"shells", Kind::whole, "N", "empty shells that wait behind them [16]", 1, 1000},
    Setting{"capacity", Kind::whole, "N", "sessions at most [2000]", 1, 100'000},
    Setting{"history", Kind::whole, "N", "executions kept per session [1000]", 1, 1'000'000},
    Setting{"recordings-mb", Kind::whole, "MB", "films kept, the oldest go first [2048]", 1,
            1 << 20},
    Setting{"auth", Kind::text, "auto|token|none",
            "who needs the token: those beyond loopback, "
            "all, nobody [auto]"},
    Setting{"isolation_floor", Kind::text, "full|container",
            "the weakest wall it may serve with; container is for hosts that forbid namespaces "
            "[full]"},
    Setting{"reward", Kind::text, "none|openenv|FILE",
            "what OpenEnv's steps earn: nothing, what stock "
            "says, or rules of docs/rewards.md [openenv]"},
    Setting{"policy", Kind::text, "native|restricted|smolagents",
            "what the language of sessions may do that name no policy "
            "[$EXECUTOR_BACKEND, or native]"},
    Setting{"token_file", Kind::text, "FILE", "holds the token [DIR/token]"},
    Setting{"tokens", Kind::text, "FILE", "further tokens with quotas, JSON [none]"},
    Setting{"packages", Kind::text, "on|off", "whether sessions may ask for packages [on]"},
    Setting{"index_url", Kind::text, "URL|none", "where packages come from [what pip uses here]"},
    Setting{"extra_index_url", Kind::text, "URL", "a further index, asked after the first [pip's]"},
    Setting{"index_credentials", Kind::text, "FILE",
            "user and password of indexes, in the form of ~/.netrc [none]"},
    Setting{"index_hosts", Kind::text, "HOST[:PORT],...",
            "further hosts that the index's files lie on [those its pages name]"},
    Setting{"find_links", Kind::text, "DIR", "a directory with wheels [pip's]"},
    Setting{"sdist", Kind::text, "on|off",
            "whether clients may ask for source distributions to be built (allow_sdist) [on]"},
    Setting{"packages_allow", Kind::text, "NAMES", "only these packages, with commas [all]"},
    Setting{"packages_deny", Kind::text, "NAMES", "none of these packages, with commas [none]"},
    Setting{"layer_mb", Kind::whole, "N", "packages of one session at most [1024]", 1, 1 << 20},
    Setting{"layers_mb", Kind::whole, "N", "all packages kept at most [8192]", 1, 1 << 30},
    Setting{"install_timeout", Kind::whole, "S", "seconds for one installation [300]", 1, 86'400},
    Setting{"egress", Kind::text, "on|off",
            "whether a session may ask for a network [on; "
            "off with --auth none]"},
    Setting{"egress_allow_private", Kind::text, "NET[,NET...]",
            "private networks that sessions may "
            "ask for, such as 10.1.0.0/16 [none]"},
    Setting{"name", Kind::text, "NAME", "of its cgroups [from the data directory]"},
};

std::string flag_of(const Setting& setting);  // "--pool-bare"

struct Settings {
  std::map<std::string, std::string> values;  // only what was given
  std::vector<std::string> hosts;             // further names it answers to

  std::string get(const std::string& name, const std::string& otherwise) const;
};

// Adds what the JSON file says and the flags did not. `invalid_argument` names file, field, value.
Status add_config(const std::string& file, Settings& settings);

// `invalid_argument` naming the first field that is wrong, its value and the remedy.
Status validate(const Settings& settings);

}  // namespace vitrine::app
