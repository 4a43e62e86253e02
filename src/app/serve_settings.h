// SPDX-License-Identifier: Apache-2.0
// What `vitrine serve` can be told: one table for the flags, the configuration file and the checks.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/settings.h"

namespace vitrine::app {

enum class Kind { text, whole };

struct Setting {
  const char* name;  // in the file; as a flag with - instead of _
  Kind kind;
  const char* value;  // how help calls it
  const char* help;   // without the default of a number
  std::optional<settings::Number> number = std::nullopt;
};

inline constexpr std::array kSettings{
    Setting{"listen", Kind::text, "ADDRESS:PORT", "address to listen on [127.0.0.1:8000]"},
    Setting{"data", Kind::text, "DIR", "data directory; created if missing"},
    Setting{"image", Kind::text, "DIR", "runtime image [as built by ./dev image]"},
    Setting{"pool", Kind::whole, "N", "warm workers with numpy, pandas, pyplot", settings::kPool},
    Setting{"pool_bare", Kind::whole, "N", "warm workers with nothing imported",
            settings::kPoolBare},
    Setting{"pool_seeded", Kind::whole, "N", "warm workers with a fixed hash seed",
            settings::kPoolSeeded},
    Setting{"shells", Kind::whole, "N", "empty shells kept ready", settings::kShells},
    Setting{"capacity", Kind::whole, "N", "maximum number of sessions", settings::kCapacity},
    Setting{"history", Kind::whole, "N", "executions kept per session", settings::kHistory},
    Setting{"recordings_mb", Kind::whole, "MB", "space for recordings", settings::kRecordingsMb},
    Setting{"auth", Kind::text, "auto|token|none",
            "who needs the token: clients beyond "
            "loopback, all, nobody [auto]"},
    Setting{"isolation_floor", Kind::text, "full|container",
            "the weakest isolation to serve with; container is for hosts that forbid namespaces "
            "[full]"},
    Setting{"reward", Kind::text, "none|openenv|FILE",
            "rewards of OpenEnv steps: none, those of stock "
            "OpenEnv, or rules (docs/rewards.md) [openenv]"},
    Setting{"policy", Kind::text, "native|restricted|smolagents",
            "language policy of sessions that name none "
            "[$EXECUTOR_BACKEND, or native]"},
    Setting{"token_file", Kind::text, "FILE", "file with the token [DIR/token]"},
    Setting{"tokens", Kind::text, "FILE", "further tokens with quotas, JSON [none]"},
    Setting{"packages", Kind::text, "on|off", "whether sessions may request packages [on]"},
    Setting{"index_url", Kind::text, "URL|none", "package index [pip's on this host]"},
    Setting{"extra_index_url", Kind::text, "URL", "a second index, used after the first [pip's]"},
    Setting{"index_for", Kind::text, "NAME=URL,...",
            "packages that have an index of their own; the main one is used where that does not "
            "have them [none]"},
    Setting{"index_credentials", Kind::text, "FILE",
            "user and password of indexes, in the form of ~/.netrc [none]"},
    Setting{"index_hosts", Kind::text, "HOST[:PORT],...",
            "further hosts of the index's files [those that its pages name]"},
    Setting{"find_links", Kind::text, "DIR", "a directory with wheels [pip's]"},
    Setting{"sdist", Kind::text, "on|off",
            "whether source distributions may be built (allow_sdist) [on]"},
    Setting{"packages_allow", Kind::text, "NAMES", "only these packages, comma-separated [all]"},
    Setting{"packages_deny", Kind::text, "NAMES", "none of these packages, comma-separated [none]"},
    Setting{"layer_mb", Kind::whole, "N", "maximum size of one layer", settings::kLayerMb},
    Setting{"layers_mb", Kind::whole, "N", "maximum size of all layers", settings::kLayersMb},
    Setting{"install_timeout", Kind::whole, "S", "seconds for one installation",
            settings::kInstallSeconds},
    Setting{"egress", Kind::text, "on|off",
            "whether sessions may request a network [on; "
            "off with --auth none]"},
    Setting{"egress_allow_private", Kind::text, "NET[,NET...]",
            "private networks that sessions may "
            "name, such as 10.1.0.0/16 [none]"},
    Setting{"name", Kind::text, "NAME", "names the cgroups [from the data directory]"},
};

std::string flag_of(const Setting& setting);  // "--pool-bare"
std::string help_of(const Setting& setting);  // with its default

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
