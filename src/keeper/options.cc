// SPDX-License-Identifier: Apache-2.0
#include "keeper/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <string_view>

#include "model/network.h"

namespace vitrine::keeper {

namespace {

std::string program_directory() {
  std::array<char, PATH_MAX> path;
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return ".";
  const std::string_view whole(path.data(), static_cast<std::size_t>(size));
  return std::string(whole.substr(0, whole.rfind('/')));
}

template <class T>
Status number(std::string_view option, std::string_view text, T least, T most, T& out) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() ||
      value < static_cast<std::uint64_t>(least) || value > static_cast<std::uint64_t>(most))
    return Error{.code = Code::invalid_argument,
                 .message = std::string(option) + " " + std::string(text) +
                            " is not a number from " + std::to_string(least) + " to " +
                            std::to_string(most),
                 .remedy = "see --help"};
  out = static_cast<T>(value);
  return ok();
}

Status set_ranges(std::string_view option, std::string_view list,
                  std::vector<std::string>& ranges) {
  constexpr std::size_t kMost = 256;
  ranges.clear();
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    const std::string_view one = list.substr(from, comma - from);
    if (Result<AddressRange> range = parse_address_range(one); !range)
      return std::move(range.error()).during(option);
    if (ranges.size() == kMost)
      return Error{Code::invalid_argument, std::string(option) + " has more than 256 networks"};
    ranges.emplace_back(one);
    from = comma + 1;
  }
  return ok();
}

Status set(Options& options, std::string_view name, const std::string& value) {
  if (name == "--control") return options.control = value, ok();
  if (name == "--front") return options.front = value, ok();
  if (name == "--listen") return options.listen = value, ok();
  if (name == "--tokens") return options.tokens = value, ok();
  if (name == "--tokens-reader") return options.tokens_reader = value, ok();
  if (name == "--wheels") return options.wheels = value, ok();
  if (name == "--data") return options.data = value, ok();
  if (name == "--image") return options.image = value, ok();
  if (name == "--runtime") return options.runtime = value, ok();
  if (name == "--init") return options.init = value, ok();
  if (name == "--egress-program") return options.egress_program = value, ok();
  if (name == "--egress") {
    if (value != "on" && value != "off")
      return Error{.code = Code::invalid_argument,
                   .message = "--egress '" + value + "' is neither on nor off",
                   .remedy = "see --help"};
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
      return Error{.code = Code::invalid_argument,
                   .message = "--name '" + value + "' is not a plain name",
                   .remedy = "use 1 to 64 letters, digits, - and _"};
    return options.name = value, ok();
  }
  if (name == "--isolation-floor") {
    if (value != "full" && value != "container")
      return Error{.code = Code::invalid_argument,
                   .message = "--isolation-floor " + value + " is neither full nor container",
                   .remedy = "use one of these, or leave it out, which is full"};
    options.floor = value == "full" ? Level::full : Level::container;
    return ok();
  }
  PoolConfig& pool = options.pool;
  if (name == "--pool") return number(name, value, 0u, 1000u, pool.workers[1]);
  if (name == "--pool-bare") return number(name, value, 0u, 1000u, pool.workers[0]);
  if (name == "--pool-seeded") return number(name, value, 0u, 1000u, pool.workers[2]);
  if (name == "--shells") return number(name, value, 1u, 1000u, pool.shells);
  if (name == "--recycled") return number(name, value, 0u, 1000u, pool.recycled);
  if (name == "--uses-per-shell") return number(name, value, 1u, 1'000'000u, pool.uses_per_shell);
  if (name == "--capacity") return number(name, value, 1u, 100'000u, options.capacity);
  if (name == "--children-per-zygote")
    return number(name, value, 1u, 100'000u, options.children_per_zygote);
  if (name == "--uid-base") return number(name, value, 65536u, 0xF0000000u, options.uid_base);
  if (name == "--client-uid")
    return number<std::int64_t>(name, value, 0, 0xFFFFFFFE, options.client_uid);
  if (name == "--shell-fault") return number(name, value, 0u, 10'000u, options.shell_fault);
  if (name == "--worker-fault") return number(name, value, 0u, 10'000u, options.worker_fault);
  if (name == "--faults") return options.faults = value, ok();
  return Error{.code = Code::invalid_argument,
               .message = "there is no option " + std::string(name),
               .remedy = "see --help"};
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
      return Error{.code = Code::invalid_argument,
                   .message = name + " has no value",
                   .remedy = "see --help"};
    }
    if (Status s = set(options, name, value); !s) return std::move(s.error());
  }
  if (options.doctor) return options;
  if (!options.front.empty() && options.data.empty())
    return Error{.code = Code::invalid_argument,
                 .message = "--front needs a data directory",
                 .remedy = "give --data DIR"};
  if (options.control.empty() && options.front.empty())
    return Error{.code = Code::invalid_argument,
                 .message = "no control socket is named",
                 .remedy = "give --control PATH, in a directory that only you can enter"};
  return options;
}

std::string help_text() {
  return R"(vitrine-keeper - makes, guards and ends sealed Python sessions

usage: vitrine-keeper --control PATH [options]
       vitrine-keeper --front PROGRAM --data DIR [options] [-- the front's arguments]
       vitrine-keeper --doctor [--image DIR] [--capacity N]    what this host offers, as JSON

  --control PATH           unix socket for clients; made with mode 0600
  --front PROGRAM          starts it under its own uid, and again whenever it dies
  --listen ADDRESS:PORT    what the front serves [127.0.0.1:8000]
  --data DIR               the front's directory; made if missing
  --tokens FILE            SIGHUP has it read again and the front told, and does not end the keeper
  --tokens-reader FILE     the program that reads it (default: vitrine, beside the program)
  --wheels DIR             wheels that installations may use, beside the index
  --ephemeral              ends with the process that started it, and removes that directory
  --image DIR              runtime image (default: beside the build, made by ./dev image)
  --runtime DIR            what is laid over the image (default: beside the program)
  --init FILE              the vitrine-init program (default: beside the program)
  --egress on|off          whether a session may ask for a network [on]
  --egress-allow-private NET[,NET...]  private networks that sessions may ask for [none]
  --egress-index NET[,NET...]  the same for installations of packages only [none]
  --egress-program FILE    the vitrine-egress program (default: beside the program)
  --name NAME              names this keeper's cgroups; unique among keepers of a host [default]
  --pool N                 rehearsed workers that wait, numpy/pandas/pyplot loaded [4]
  --pool-bare N            the same with nothing imported [0]
  --pool-seeded N          the same as --pool with a fixed hash seed [0]
  --shells N               empty shells that wait [16]
  --recycled N             used shells kept for one-shots; 0 = never recycle [32]
  --uses-per-shell N       one-shots before a recycled shell is taken down [1000]
  --capacity N             sessions at most [2000]
  --children-per-zygote N  living workers before a zygote is replaced [400]
  --uid-base N             as root: first of 65536 host user ids for sessions [536870912]
  --isolation-floor LEVEL  full: no session without the whole jail; container: where namespaces are
                           forbidden, user ids, Landlock, seccomp and limits must do [full]
  --client-uid N           another user who may connect to the control socket
  --help                   this text

It prints one line on stdout when it is ready, logs to stderr, and ends with everything it
made on SIGTERM, SIGINT or, without --tokens, SIGHUP.
)";
}

}  // namespace vitrine::keeper
