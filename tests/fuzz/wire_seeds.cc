// SPDX-License-Identifier: Apache-2.0
// wire_seeds DIRECTORY: writes seeds for the fuzzers of the control and session sockets: one of each
// message there is, made by the encoders themselves, so that no change of the wire makes them stale.
// Ends with an error if a decoder refuses one: a fuzzer that starts from refused seeds learns little.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>

#include "wire/control.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace {

using namespace vitrine;
using namespace vitrine::wire;

class Folder {
 public:
  Folder(const std::filesystem::path& root, const char* name) : directory_(root / name) {
    std::filesystem::create_directories(directory_);
  }
  // `accepted`: what the decoder that is fuzzed said of it.
  void add(const std::string& name, std::uint8_t first, const std::string& bytes, bool accepted) {
    if (!accepted) {
      std::fprintf(stderr, "the seed %s/%s is refused\n", directory_.c_str(), name.c_str());
      std::exit(1);
    }
    std::ofstream out(directory_ / name, std::ios::binary);
    out.put(static_cast<char>(first)) << bytes;
  }

 private:
  std::filesystem::path directory_;
};

// `visit` gets a default value of each alternative of the variant V.
template <class V, class Visit, std::size_t... I>
void each(Visit visit, std::index_sequence<I...>) {
  (visit(I, V{std::in_place_index<I>}), ...);
}
template <class V>
void each(auto visit) {
  each<V>(visit, std::make_index_sequence<std::variant_size_v<V>>());
}

void write_control(Folder folder) {
  const auto request = [&](const std::string& name, const Request& value) {
    const std::string packet = encode_request(7, value);
    folder.add(name, 0, packet, static_cast<bool>(decode_request(packet)));
  };
  const auto reply = [&](const std::string& name, const Reply& value) {
    const std::string packet = encode_reply(7, value);
    folder.add(name, 1, packet, static_cast<bool>(decode_from_keeper(packet)));
  };
  each<Request>([&](std::size_t number, Request value) {
    if (auto* add = std::get_if<MountLayers>(&value)) add->layers = {std::string(64, 'a')};
    request("request_" + std::to_string(number), value);
  });
  each<Reply>(
      [&](std::size_t number, Reply value) { reply("reply_" + std::to_string(number), value); });
  each<Event>([&](std::size_t number, const Event& value) {
    const std::string packet = encode_event(value);
    folder.add("event_" + std::to_string(number), 1, packet,
               static_cast<bool>(decode_from_keeper(packet)));
  });
  const FdRoles roles{{FdRole::session_socket, FdRole::stdout_pipe, FdRole::stderr_pipe,
                       FdRole::cpu_meter, FdRole::egress_log}};
  reply("opened_roles", Opened{.session = 1, .source = Source::built, .fds = roles});
  reply("display_roles", DisplayOpened{.fds = {{FdRole::framebuffer, FdRole::screen_helper}}});
  reply("listed_dead", Listed{.sessions = {{.session = 1, .death = Death{}, .frozen = true}}});
  KeeperInfo info{.instance = "a", .python = "3.11.2"};
  info.isolation.lost = {"user namespaces"};
  info.isolation.best_effort = {"memory"};
  info.zygotes = {{.variant = Variant::loaded, .environment = "ml", .pid = 5, .forks = 9}};
  info.environments = {{.name = "ml", .preload = {"numpy", "os.path"}}};
  reply("info_full", info);
}

template <class M>
void write_message(Folder& folder, Type type, const char* name, const M& message) {
  const std::string payload = message.encode();
  folder.add(name, static_cast<std::uint8_t>(type), payload, static_cast<bool>(M::decode(payload)));
}

void write_messages(Folder folder) {
  write_message(folder, Type::setup, "setup_all",
                Setup{.environment = {{"A", "1"}},
                      .seed = 7,
                      .policy = Policy::smolagents,
                      .imports = {"os.path"},
                      .packages_first = true});
  write_message(folder, Type::execute, "execute_default", Execute{.code = "1"});
  write_message(folder, Type::package_request, "package_request",
                PackageRequest{.packages = {"polars>=1", "a[b]"}});
  write_message(folder, Type::package_reply, "package_reply",
                PackageReply{.added = {"polars==1.2"}, .code = "", .detail = "", .remedy = ""});
  write_message(folder, Type::package_reply, "package_refused",
                PackageReply{.added = {}, .code = "a", .detail = "b", .remedy = "c"});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  write_control(Folder(argv[1], "control"));
  write_messages(Folder(argv[1], "message"));
  return 0;
}
