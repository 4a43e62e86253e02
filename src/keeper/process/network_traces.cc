// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/network_traces.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <tuple>

namespace vitrine::keeper {

namespace {

constexpr std::size_t kMaxFile = 64 * 1024;

enum class Presence { always, perhaps };  // a kernel without IPv6 lacks some
struct File {
  const char* name;
  Presence presence;
  bool (*is_clean)(std::string_view text);
};
constexpr std::array<File, std::tuple_size_v<NetworkFiles>> kFiles{{
    {"dev", Presence::always, [](std::string_view text) { return !used_loopback(text); }},
    {"snmp", Presence::perhaps, counts_nothing},
    {"snmp6", Presence::perhaps, counts_nothing},
    {"netstat", Presence::perhaps, counts_nothing},
    {"ip6_flowlabel", Presence::perhaps,
     [](std::string_view text) { return !has_flow_labels(text); }},
}};

// From its start to where the kernel says that it ends; none = it could not be read.
std::optional<std::string_view> read_whole(int file, std::vector<char>& space) {
  for (std::size_t size = 0; size < space.size();) {
    const ssize_t got =
        ::pread(file, space.data() + size, space.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return std::string_view(space.data(), size);
    size += static_cast<std::size_t>(got);
  }
  return std::nullopt;
}

}  // namespace

bool used_loopback(std::string_view dev) {
  const std::size_t at = dev.find("lo:");
  unsigned long received = 1;
  if (at != std::string_view::npos)
    std::sscanf(std::string(dev.substr(at)).c_str(), "lo: %lu", &received);
  return received != 0;
}

// Lines name counters or count them; the first of Ip and Tcp are settings.
bool counts_nothing(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    int settings = line.starts_with("Ip:") ? 2 : line.starts_with("Tcp:") ? 4 : 0;
    for (bool first = true; !line.empty(); first = false) {
      const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
      const std::string_view word = line.substr(0, space);
      line.remove_prefix(std::min(space + 1, line.size()));
      if (first || word.empty() || settings-- > 0) continue;
      if ((word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) && word != "0") return false;
    }
  }
  return true;
}

bool has_flow_labels(std::string_view labels) { return labels.find('\n') + 1 < labels.size(); }

Result<NetworkFiles> open_network_files(int pid) {
  const std::string net = "/proc/" + std::to_string(pid) + "/net/";
  NetworkFiles files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i] = Fd(::open((net + kFiles[i].name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!files[i] && (errno != ENOENT || kFiles[i].presence == Presence::always))
      return Error::from_errno("opening a file of a network namespace");
  }
  return files;
}

NetworkTraces::NetworkTraces() : space_(kMaxFile) {}

bool NetworkTraces::left_in(const NetworkFiles& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i] && kFiles[i].presence == Presence::perhaps) continue;
    const std::optional<std::string_view> text = read_whole(files[i].get(), space_);
    if (!text) return true;
    if (!text->empty() && *text == clean_[i]) continue;
    if (!kFiles[i].is_clean(*text)) return true;
    clean_[i] = *text;
  }
  return false;
}

}  // namespace vitrine::keeper
