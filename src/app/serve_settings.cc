// SPDX-License-Identifier: Apache-2.0
#include "app/serve_settings.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/fd.h"
#include "model/network.h"
#include "model/session.h"

namespace vitrine::app {

namespace json = boost::json;

namespace {

Error wrong(const std::string& field, const std::string& value, const std::string& why,
            const std::string& remedy) {
  return Error{.code = Code::invalid_argument,
               .message = field + " '" + value + "' " + why,
               .remedy = remedy};
}

const Setting* find(std::string_view name) {
  const auto found = std::find_if(kSettings.begin(), kSettings.end(),
                                  [&](const Setting& one) { return one.name == name; });
  return found == kSettings.end() ? nullptr : &*found;
}

bool is_whole(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= least &&
         value <= most;
}

bool is_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || !is_whole(text.substr(colon + 1), 0, 65535)) return false;
  std::string host = text.substr(0, colon);
  unsigned char bytes[16];
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), bytes) == 1;
  return host == "localhost" || ::inet_pton(AF_INET, host.c_str(), bytes) == 1;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

// A host as it stands in a Host header.
bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 261 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(".-_:[]").find(c) != std::string_view::npos;
  });
}

std::string known_names() {
  std::string names;
  for (const Setting& one : kSettings) names += std::string(one.name) + ", ";
  return names + "host";
}

Status add_hosts(const json::value& value, std::vector<std::string>& hosts) {
  const Error bad = wrong("host", json::serialize(value), "is not a list of names",
                          "write it like [\"box.example.org:8000\"]");
  if (value.is_string()) return hosts.emplace_back(value.as_string()), ok();
  if (!value.is_array()) return bad;
  for (const json::value& one : value.as_array()) {
    if (!one.is_string()) return bad;
    hosts.emplace_back(one.as_string());
  }
  return ok();
}

}  // namespace

std::string flag_of(const Setting& setting) {
  std::string name = setting.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string help_of(const Setting& setting) {
  return setting.number ? setting.help + settings::shown(*setting.number) : setting.help;
}

std::string Settings::get(const std::string& name, const std::string& otherwise) const {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : found->second;
}

Status add_config(const std::string& file, Settings& settings) {
  Result<std::string> text = read_file(AT_FDCWD, file.c_str());
  if (!text)
    return wrong("config", file, "cannot be read: " + text.error().message,
                 "name a readable JSON file");
  boost::system::error_code failed;
  const json::value parsed = json::parse(*text, failed);
  if (failed || !parsed.is_object())
    return wrong("config", file, failed ? "is not JSON: " + failed.message() : "is not an object",
                 "write it like {\"listen\": \"127.0.0.1:8000\", \"pool\": 8}");
  const bool own_hosts = settings.hosts.empty();
  for (const auto& [key, value] : parsed.as_object()) {
    std::string name(key);
    std::replace(name.begin(), name.end(), '-', '_');
    const std::string shown = json::serialize(value);
    if (name == "host") {
      std::vector<std::string> hosts;
      if (Status s = add_hosts(value, hosts); !s) return std::move(s.error()).during(file);
      if (own_hosts) settings.hosts = std::move(hosts);
      continue;
    }
    const Setting* setting = find(name);
    if (setting == nullptr)
      return wrong("field", std::string(key), "of the configuration " + file + " is not known",
                   "known are: " + known_names());
    const bool fits = setting->kind == Kind::text
                          ? value.is_string()
                          : value.is_uint64() || (value.is_int64() && value.as_int64() >= 0);
    if (!fits)
      return wrong(setting->name, shown,
                   setting->kind == Kind::text ? "is not a string" : "is not a whole number",
                   setting->kind == Kind::text ? "put it in quotes"
                                               : "write a whole number, 0 or more, without quotes");
    settings.values.emplace(name, value.is_string() ? std::string(value.as_string()) : shown);
  }
  return ok();
}

Status validate(const Settings& settings) {
  for (const auto& [name, value] : settings.values) {
    const Setting& setting = *find(name);
    if (setting.number && !is_whole(value, setting.number->least, setting.number->most))
      return wrong(name, value,
                   "is not a whole number from " + std::to_string(setting.number->least) + " to " +
                       std::to_string(setting.number->most),
                   "use such a number, or leave " + flag_of(setting) + " out");
    if (setting.kind == Kind::text && value.empty())
      return wrong(name, value, "is empty", "give a value, or leave " + flag_of(setting) + " out");
    if (name == "listen" && !is_address(value))
      return wrong(name, value, "is not a numeric address and a port",
                   "use for example 127.0.0.1:8000, [::1]:8000 or 0.0.0.0:8000");
    if (name == "auth" && value != "auto" && value != "token" && value != "none")
      return wrong(name, value, "is not auto, token or none",
                   "use one of these, or leave --auth out");
    if ((name == "packages" || name == "sdist") && value != "on" && value != "off")
      return wrong(name, value, "is neither on nor off",
                   "use one of these, or leave --" + name + " out");
    if ((name == "index_url" || name == "extra_index_url") && value != "none" &&
        !value.starts_with("https://") && !value.starts_with("http://"))
      return wrong(name, value.find('@') == std::string::npos ? value : "...", "is not a URL",
                   "give the URL of a simple index, or none");
    if (name == "egress" && value != "on" && value != "off")
      return wrong(name, value, "is neither on nor off", "use one of these");
    if (name == "egress_allow_private")
      for (std::size_t from = 0; from <= value.size();) {
        const std::size_t comma = std::min(value.find(',', from), value.size());
        const std::string one = value.substr(from, comma - from);
        if (Result<AddressRange> range = parse_address_range(one); !range)
          return wrong(name, one, "is not a network", range.error().remedy);
        from = comma + 1;
      }
    if (name == "isolation_floor" && value != "full" && value != "container")
      return wrong(name, value, "is neither full nor container",
                   "use one of these, or leave --isolation-floor out");
    if (name == "policy" && !policy_from(value))
      return wrong(name, value, "is not native, restricted or smolagents",
                   "use one of these, or leave --policy out");
    if (name == "name" && !is_name(value))
      return wrong(name, value, "is not a plain name", "use 1 to 64 letters, digits, - and _");
  }
  for (const std::string& host : settings.hosts)
    if (!is_host(host))
      return wrong("host", host, "is not a host name",
                   "give it as clients do, with its port: box.example.org:8000");
  return ok();
}

}  // namespace vitrine::app
