// SPDX-License-Identifier: Apache-2.0
#include "app/pip_settings.h"

#include <fcntl.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "base/fd.h"

namespace vitrine::app {

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// [global] and [install]; a line that begins with space goes on with the value before.
void read_ini(const std::string& text, std::map<std::string, std::string>& values) {
  std::istringstream in(text);
  std::string section;
  std::string key;
  for (std::string line; std::getline(in, line);) {
    const std::string plain = trimmed(line);
    if (plain.empty() || plain.front() == '#' || plain.front() == ';') continue;
    if (plain.front() == '[') {
      section = plain;
      key.clear();
      continue;
    }
    if (section != "[global]" && section != "[install]") continue;
    const bool goes_on = line.front() == ' ' || line.front() == '\t';
    const std::size_t equals = plain.find_first_of("=:");
    if (goes_on && !key.empty()) {
      values[key] += " " + plain;
    } else if (equals != std::string::npos) {
      key = trimmed(plain.substr(0, equals));
      for (char& c : key) c = c == '_' ? '-' : c;
      values[key] = trimmed(plain.substr(equals + 1));
    }
  }
}

}  // namespace

PipSettings read_pip_settings(const Variable& variable, const Reader& reader) {
  std::map<std::string, std::string> values;
  const std::string home = variable("HOME");
  std::string config = variable("XDG_CONFIG_HOME");
  if (config.empty() && !home.empty()) config = home + "/.config";
  std::vector<std::string> files{"/etc/xdg/pip/pip.conf", "/etc/pip.conf"};
  if (!home.empty()) files.push_back(home + "/.pip/pip.conf");
  if (!config.empty()) files.push_back(config + "/pip/pip.conf");
  const std::string own = variable("PIP_CONFIG_FILE");
  if (own == "/dev/null") files.clear();
  else if (!own.empty()) files.push_back(own);
  for (const std::string& file : files) read_ini(reader(file), values);
  const auto take = [&](const char* key, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const std::string value = variable(name); !value.empty()) return value;
    return values[key];
  };
  return {.index_url = take("index-url", {"PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"}),
          .extra_index_urls = words(
              take("extra-index-url", {"PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"})),
          .find_links = words(take("find-links", {"PIP_FIND_LINKS", "UV_FIND_LINKS"})),
          .certificates = take("cert", {"PIP_CERT", "SSL_CERT_FILE"})};
}

PipSettings read_pip_settings() {
  return read_pip_settings(
      [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
      },
      [](const std::string& path) {
        Result<std::string> text = read_file(AT_FDCWD, path.c_str(), 1u << 20);
        return text ? *text : std::string();
      });
}

}  // namespace vitrine::app
