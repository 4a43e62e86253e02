// SPDX-License-Identifier: Apache-2.0
#include "app/package_settings.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "app/pip_settings.h"
#include "base/fd.h"

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

std::uint64_t mega(const Settings& settings, const char* name, std::uint64_t otherwise) {
  const std::string text = settings.get(name, "");
  return (text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10)) << 20;
}

Status write_private(const std::string& path, const std::string& text, uid_t front) {
  ::unlink(path.c_str());
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      (::geteuid() == 0 && ::fchown(file.get(), front, front) != 0))
    return Error::from_errno("writing down where packages come from");
  return ok();
}

}  // namespace

Result<PackagePlaces> packages_for_front(const Settings& settings, const std::string& data,
                                         uid_t front) {
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
  std::string certificates;
  if (!pip.certificates.empty())
    if (Result<std::string> text = read_file(AT_FDCWD, pip.certificates.c_str(), kMaxCertificates))
      certificates = *text;
  const char* additional =
      std::getenv("ADDITIONAL_IMPORTS");  // as the ancestors' containers have it
  const json::object out{
      {"on", settings.get("packages", "on") == "on" ? 1 : 0},
      {"index_url", settings.get("index_url", pip.index_url)},
      {"extra_index_urls", std::move(extra)},
      {"find_links", places.wheels.empty() ? 0 : 1},
      {"certificates", certificates},
      {"allow", names(settings.get("packages_allow", ""))},
      {"deny", names(settings.get("packages_deny", ""))},
      {"imports", words(additional == nullptr ? "" : additional)},
      {"layer_bytes", mega(settings, "layer_mb", 1024)},
      {"budget_bytes", mega(settings, "layers_mb", 8192)},
      {"time_s", std::strtoull(settings.get("install_timeout", "300").c_str(), nullptr, 10)}};
  if (Status s = write_private(places.file, json::serialize(out), front); !s)
    return std::move(s.error());
  return places;
}

}  // namespace vitrine::app
