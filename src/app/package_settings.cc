// SPDX-License-Identifier: Apache-2.0
#include "app/package_settings.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "app/netrc.h"
#include "app/pip_settings.h"
#include "base/fd.h"
#include "model/index_url.h"

namespace vitrine::app {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

constexpr std::size_t kMaxCertificates = 2u << 20;

// "a, B_c" -> ["a", "b-c"]: names as the index compares them.
json::array names(const std::string& list) {
  json::array out;
  std::string name;
  for (char c : list + ",") {
    if (c == ',' || c == ' ') {
      if (!name.empty()) out.emplace_back(std::exchange(name, ""));
      continue;
    }
    if (c == '_' || c == '.') c = '-';
    if (c == '-' && name.ends_with('-')) continue;
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

json::array words(const std::string& list) {
  json::array out;
  std::string word;
  for (char c : list + ",") {
    if (c != ',' && c != ' ') word += c;
    else if (!word.empty()) out.emplace_back(std::exchange(word, ""));
  }
  return out;
}

std::uint64_t mega(const Settings& settings, const char* name, const settings::Number& number) {
  const std::string text = settings.get(name, "");
  return (text.empty() ? std::uint64_t{number.otherwise} : std::strtoull(text.c_str(), nullptr, 10))
         << 20;
}

// "https://user:secret@host:8443/simple" -> "host".
std::string host_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return "";
  std::string host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  host = host.substr(host.rfind('@') + 1);  // npos + 1 = 0
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

// What the image's pip uses where nobody says otherwise, as its own source has it.
std::string default_index(const std::string& image) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(image + "/root/usr/local/lib", failed)) {
    const std::string file = entry.path().string() + "/dist-packages/pip/_internal/models/index.py";
    Result<std::string> text = read_file(AT_FDCWD, file.c_str(), 1u << 20);
    const std::size_t at = text ? text->find("\nPyPI = ") : std::string::npos;
    if (at == std::string::npos) continue;
    const std::size_t begin = text->find('"', at) + 1;
    return text->substr(begin, text->find('"', begin) - begin);
  }
  return "";
}

// Where a name leads to; "" if that cannot be said at once. Nobody waits longer for a server.
std::string addresses_of(const std::string& host) {
  static std::string name;  // what is asked for may be answered when nobody listens any more
  static gaicb request;
  static addrinfo hints;
  name = host;
  hints.ai_socktype = SOCK_STREAM;
  request.ar_name = name.c_str();
  request.ar_request = &hints;
  gaicb* list[] = {&request};
  const timespec limit{1, 0};
  if (host.empty() || ::getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr) != 0) return "";
  if (::gai_suspend(list, 1, &limit) == EAI_AGAIN || ::gai_error(&request) != 0) return "";
  std::string out;
  for (const addrinfo* one = request.ar_result; one != nullptr; one = one->ai_next) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = one->ai_family == AF_INET
                            ? static_cast<const void*>(
                                  &reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr)
                            : &reinterpret_cast<const sockaddr_in6*>(one->ai_addr)->sin6_addr;
    if (::inet_ntop(one->ai_family, bytes, text.data(), text.size()) != nullptr)
      out += (out.empty() ? "" : ",") + std::string(text.data());
  }
  return out;
}

Status write_private(const std::string& path, const std::string& text, uid_t front) {
  ::unlink(path.c_str());
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      (::geteuid() == 0 && ::fchown(file.get(), front, front) != 0))
    return Error::from_errno("writing the package settings");
  return ok();
}

}  // namespace

Result<PackagePlaces> packages_for_front(const Settings& settings, const std::string& image,
                                         const std::string& data, uid_t front) {
  const PipSettings pip = read_pip_settings();
  PackagePlaces places;
  places.file = data + "/packages.json";
  places.has_index =
      settings.get("packages", "on") == "on" && settings.get("index_url", "") != "none";
  std::error_code failed;
  if (const std::string given = settings.get("find_links", ""); !given.empty()) {
    places.wheels = fs::weakly_canonical(fs::absolute(given), failed).string();
    if (!fs::is_directory(places.wheels, failed))
      return Error{.code = Code::invalid_argument,
                   .message = "find_links '" + given + "' is not a directory",
                   .remedy = "name a directory with wheels, or leave --find-links out"};
  } else {
    for (const std::string& one : pip.find_links)  // the first that is a directory here
      if (places.wheels.empty() && one.starts_with('/') && fs::is_directory(one, failed))
        places.wheels = fs::weakly_canonical(one, failed).string();
  }
  json::array extra;
  if (const std::string given = settings.get("extra_index_url", ""); given == "none") {
  } else if (!given.empty()) {
    extra.emplace_back(given);
  } else if (settings.get("index_url", "").empty()) {  // a chosen index stands for itself
    for (const std::string& one : pip.extra_index_urls) extra.emplace_back(one);
  }
  json::object index_for;
  for (const json::value& one : words(settings.get("index_for", ""))) {
    const std::string text(one.as_string());
    const std::size_t equals = text.find('=');
    const std::string url = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (equals == 0 || !is_plain_about_secrets(url) || !parse_index_url(url))
      return Error{.code = Code::invalid_argument,
                   .message = "index_for names no package with the URL of an index",
                   .remedy = "write it like --index-for torch=https://index.example.org/cpu"};
    index_for[text.substr(0, equals)] = url;
  }
  std::string index = settings.get("index_url", pip.index_url);
  bool plain = is_plain_about_secrets(index);
  for (const json::value& one : extra)
    plain = plain && is_plain_about_secrets(std::string(one.as_string()));
  if (!plain)  // the URL itself is not told: it holds a password
    return Error{.code = Code::invalid_argument,
                 .message = "the URL of a package index has an @ that ends no user and password",
                 .remedy =
                     "begin it with http:// or https://, and write / ? # @ in a password as "
                     "%2F %3F %23 %40; or use --index-credentials"};
  // Credentials that stand in no URL are put into it, in the file that only the front can read.
  if (const std::string file = settings.get("index_credentials", ""); !file.empty()) {
    Result<std::vector<Machine>> machines = load_netrc(file);
    if (!machines) return std::move(machines.error());
    if (index.empty()) index = default_index(image);
    index = with_credentials(index, *machines);
    for (json::value& one : extra) one = with_credentials(std::string(one.as_string()), *machines);
    for (auto& [name, url] : index_for)
      url = with_credentials(std::string(url.as_string()), *machines);
  }
  const json::array hosts = words(settings.get("index_hosts", ""));
  std::vector<std::string> named;
  for (const json::value& one : hosts) named.emplace_back(one.as_string());
  if (Status s = check_index_hosts(named); !s) return std::move(s.error());
  std::string certificates;
  if (!pip.certificates.empty())
    if (Result<std::string> text = read_file(AT_FDCWD, pip.certificates.c_str(), kMaxCertificates))
      certificates = *text;
  const char* additional =
      std::getenv("ADDITIONAL_IMPORTS");  // as the ancestors' containers have it
  const json::object out{
      {"on", settings.get("packages", "on") == "on" ? 1 : 0},
      {"index_url", index},
      {"index_hosts", hosts},
      {"extra_index_urls", std::move(extra)},
      {"index_for", std::move(index_for)},
      {"sdist", settings.get("sdist", "on") == "on" ? 1 : 0},
      {"find_links", places.wheels.empty() ? 0 : 1},
      {"certificates", certificates},
      {"allow", names(settings.get("packages_allow", ""))},
      {"deny", names(settings.get("packages_deny", ""))},
      {"imports", words(additional == nullptr ? "" : additional)},
      {"layer_bytes", mega(settings, "layer_mb", settings::kLayerMb)},
      {"budget_bytes", mega(settings, "layers_mb", settings::kLayersMb)},
      {"time_s",
       std::strtoull(
           settings.get("install_timeout", std::to_string(settings::kInstallSeconds.otherwise))
               .c_str(),
           nullptr, 10)}};
  if (places.has_index) {
    places.addresses = addresses_of(host_of(index.empty() ? default_index(image) : index));
  }
  if (Status s = write_private(places.file, json::serialize(out), front); !s)
    return std::move(s.error());
  return places;
}

}  // namespace vitrine::app
