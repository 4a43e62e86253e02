// SPDX-License-Identifier: Apache-2.0
#include "keeper/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <optional>
#include <string_view>
#include <utility>

#include "model/network.h"
#include "model/settings.h"

namespace vitrine::keeper {

namespace {

std::string program_directory() {
  std::array<char, PATH_MAX> path;
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return ".";
  const std::string_view whole(path.data(), static_cast<std::size_t>(size));
  return std::string(whole.substr(0, whole.rfind('/')));
}

Error wrong(std::string message, std::string remedy = "see --help") {
  return Error{
      .code = Code::invalid_argument, .message = std::move(message), .remedy = std::move(remedy)};
}

std::optional<std::uint64_t> whole(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return std::nullopt;
  return value;
}

// An option that takes a text as it is.
struct TextOption {
  const char* name;
  std::string Options::*place;
  const char* value;
  const char* help;
};
constexpr std::array kTexts{
    TextOption{"--control", &Options::control, "PATH",
               "unix socket for clients; made with mode 0600"},
    TextOption{"--front", &Options::front, "PROGRAM",
               "starts it under its own uid, and again whenever it dies"},
    TextOption{"--listen", &Options::listen, "ADDRESS:PORT", "what the front serves"},
    TextOption{"--data", &Options::data, "DIR", "the front's directory; made if missing"},
    TextOption{"--tokens", &Options::tokens, "FILE",
               "SIGHUP has it read again and the front told, and does not end the keeper"},
    TextOption{"--tokens-reader", &Options::tokens_reader, "FILE",
               "the program that reads it (default: vitrine, beside the program)"},
    TextOption{"--wheels", &Options::wheels, "DIR",
               "wheels that installations may use, beside the index"},
    TextOption{"--image", &Options::image, "DIR",
               "runtime image (default: beside the build, made by ./dev image)"},
    TextOption{"--runtime", &Options::runtime, "DIR",
               "what is laid over the image, one folder per Python (default: beside the program)"},
    TextOption{"--init", &Options::init, "FILE",
               "the vitrine-init program (default: beside the program)"},
    TextOption{"--egress-program", &Options::egress_program, "FILE",
               "the vitrine-egress program (default: beside the program)"},
};

// An option that takes a number of the operator's; its range and default are model/settings.h's.
struct NumberOption {
  const char* name;
  std::uint32_t& (*place)(Options& options);
  settings::Number number;
  const char* help;
};
constexpr std::array kNumbers{
    NumberOption{"--pool", [](Options& o) -> std::uint32_t& { return o.pool.workers[1]; },
                 settings::kPool, "rehearsed workers that wait, numpy/pandas/pyplot loaded"},
    NumberOption{"--pool-bare", [](Options& o) -> std::uint32_t& { return o.pool.workers[0]; },
                 settings::kPoolBare, "the same with nothing imported"},
    NumberOption{"--pool-seeded", [](Options& o) -> std::uint32_t& { return o.pool.workers[2]; },
                 settings::kPoolSeeded, "the same as --pool with a fixed hash seed"},
    NumberOption{"--shells", [](Options& o) -> std::uint32_t& { return o.pool.shells; },
                 settings::kShells, "empty shells that wait"},
    NumberOption{"--recycled", [](Options& o) -> std::uint32_t& { return o.pool.recycled; },
                 settings::kRecycled, "used shells kept for one-shots; 0 = never recycle"},
    NumberOption{"--uses-per-shell",
                 [](Options& o) -> std::uint32_t& { return o.pool.uses_per_shell; },
                 settings::kUsesPerShell, "one-shots before a recycled shell is taken down"},
    NumberOption{"--capacity", [](Options& o) -> std::uint32_t& { return o.capacity; },
                 settings::kCapacity, "sessions at most"},
    NumberOption{"--children-per-zygote",
                 [](Options& o) -> std::uint32_t& { return o.children_per_zygote; },
                 settings::kChildrenPerZygote, "living workers before a zygote is replaced"},
    NumberOption{"--uid-base", [](Options& o) -> std::uint32_t& { return o.uid_base; },
                 settings::kUidBase, "as root: first of 65536 host user ids for sessions"},
};
// Tests only: the n-th system call fails. Not in the help text.
constexpr std::array kFaults{
    NumberOption{"--shell-fault",
                 [](Options& o) -> std::uint32_t& { return o.shell_fault; },
                 {0, 0, 10'000},
                 ""},
    NumberOption{"--worker-fault",
                 [](Options& o) -> std::uint32_t& { return o.worker_fault; },
                 {0, 0, 10'000},
                 ""},
};

Status set_ranges(std::string_view option, std::string_view list,
                  std::vector<std::string>& ranges) {
  constexpr std::size_t kMost = 256;
  ranges.clear();
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    const std::string_view one = list.substr(from, comma - from);
    if (Result<AddressRange> range = parse_address_range(one); !range)
      return std::move(range.error()).during(option);
    if (ranges.size() == kMost) return wrong(std::string(option) + " has more than 256 networks");
    ranges.emplace_back(one);
    from = comma + 1;
  }
  return ok();
}

Status set_number(Options& options, const NumberOption& option, const std::string& value) {
  const auto& [otherwise, least, most] = option.number;
  const std::optional<std::uint64_t> given = whole(value, least, most);
  if (!given)
    return wrong(std::string(option.name) + " " + value + " is not a number from " +
                 std::to_string(least) + " to " + std::to_string(most));
  option.place(options) = static_cast<std::uint32_t>(*given);
  return ok();
}

Status set(Options& options, std::string_view name, const std::string& value) {
  for (const TextOption& option : kTexts)
    if (name == option.name) return options.*option.place = value, ok();
  for (const NumberOption& option : kNumbers)
    if (name == option.name) return set_number(options, option, value);
  for (const NumberOption& option : kFaults)
    if (name == option.name) return set_number(options, option, value);
  if (name == "--faults") return options.faults = value, ok();
  if (name == "--egress") {
    if (value != "on" && value != "off")
      return wrong("--egress '" + value + "' is neither on nor off");
    return options.egress = value == "on", ok();
  }
  if (name == "--egress-allow-private") return set_ranges(name, value, options.egress_private);
  if (name == "--egress-index") return set_ranges(name, value, options.egress_index);
  if (name == "--name") {
    const bool plain = !value.empty() && value.size() <= 64 &&
                       value.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
                           std::string::npos;
    if (!plain)
      return wrong("--name '" + value + "' is not a plain name",
                   "use 1 to 64 letters, digits, - and _");
    return options.name = value, ok();
  }
  if (name == "--isolation-floor") {
    if (value != "full" && value != "container")
      return wrong("--isolation-floor " + value + " is neither full nor container",
                   "use one of these, or leave it out, which is full");
    options.floor = value == "full" ? Level::full : Level::container;
    return ok();
  }
  if (name == "--client-uid") {
    const std::optional<std::uint64_t> uid = whole(value, 0, 0xFFFFFFFE);
    if (!uid) return wrong("--client-uid " + value + " is not a number from 0 to 4294967294");
    return options.client_uid = static_cast<std::int64_t>(*uid), ok();
  }
  return wrong("there is no option " + std::string(name));
}

// "  --pool N                 what it is for [4]"
std::string help_line(std::string option, const std::string& help) {
  constexpr std::size_t kColumn = 25;
  if (option.size() < kColumn - 1) option.resize(kColumn - 1, ' ');
  return "  " + option + " " + help + "\n";
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  const std::string here = program_directory();
  options.image = here + "/../../image";
  options.runtime = here + "/../runtime";
  options.init = here + "/vitrine-init";
  options.egress_program = here + "/vitrine-egress";
  options.tokens_reader = here + "/vitrine";
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      options.help = true;
      return options;
    }
    if (name == "--doctor") {
      options.doctor = true;
      continue;
    }
    if (name == "--ephemeral") {
      options.ephemeral = true;
      continue;
    }
    if (name == "--") {
      options.front_arguments.assign(argv + i + 1, argv + argc);
      break;
    }
    std::string value;
    if (const auto equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      return wrong(name + " has no value");
    }
    if (Status s = set(options, name, value); !s) return std::move(s.error());
  }
  if (options.doctor) return options;
  if (!options.front.empty() && options.data.empty())
    return wrong("--front needs a data directory", "give --data DIR");
  if (options.control.empty() && options.front.empty())
    return wrong("no control socket is named",
                 "give --control PATH, in a directory that only you can enter");
  return options;
}

std::string help_text() {
  std::string text = R"(vitrine-keeper - makes, guards and ends sealed Python sessions

usage: vitrine-keeper --control PATH [options]
       vitrine-keeper --front PROGRAM --data DIR [options] [-- the front's arguments]
       vitrine-keeper --doctor [--image DIR] [--capacity N]    what this host offers, as JSON

)";
  const Options defaults;
  for (const TextOption& option : kTexts) {
    const std::string& otherwise = defaults.*option.place;
    text += help_line(std::string(option.name) + " " + option.value,
                      option.help + (otherwise.empty() ? "" : " [" + otherwise + "]"));
  }
  for (const NumberOption& option : kNumbers)
    text +=
        help_line(std::string(option.name) + " N", option.help + settings::shown(option.number));
  return text +
         R"(  --ephemeral              ends with the process that started it, and removes that directory
  --egress on|off          whether a session may ask for a network [on]
  --egress-allow-private NET[,NET...]  private networks that sessions may ask for [none]
  --egress-index NET[,NET...]  the same for installations of packages only [none]
  --name NAME              names this keeper's cgroups; unique among keepers of a host [default]
  --isolation-floor LEVEL  full: no session without the whole jail; container: where namespaces are
                           forbidden, user ids, Landlock, seccomp and limits must do [full]
  --client-uid N           another user who may connect to the control socket
  --help                   this text

It prints one line on stdout when it is ready, logs to stderr, and ends with everything it
made on SIGTERM, SIGINT or, without --tokens, SIGHUP.
)";
}

}  // namespace vitrine::keeper
