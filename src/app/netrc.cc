// SPDX-License-Identifier: Apache-2.0
#include "app/netrc.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <sstream>

#include "base/fd.h"

namespace vitrine::app {

namespace {

constexpr std::size_t kMaxFile = 64u << 10;

Error wrong(const std::string& why) {
  return Error{.code = Code::invalid_argument,
               .message = "index_credentials: " + why,
               .remedy = "write it like `machine index.example.org login user password secret`"};
}

std::string quoted(const std::string& text) {
  std::string out;
  for (unsigned char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) out += static_cast<char>(c);
    else {
      out += '%';
      out += "0123456789ABCDEF"[c >> 4];
      out += "0123456789ABCDEF"[c & 15];
    }
  }
  return out;
}

}  // namespace

Result<std::vector<Machine>> parse_netrc(const std::string& text) {
  std::vector<Machine> machines;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string word;
    std::string value;
    while (words >> word) {
      if (word.starts_with('#')) break;
      if (!(words >> value)) return wrong("line " + std::to_string(number) + " ends too early");
      if (word == "machine") machines.push_back({.host = value, .login = {}, .password = {}});
      else if (machines.empty() || (word != "login" && word != "password"))
        return wrong("line " + std::to_string(number) + " has an unknown word");
      else (word == "login" ? machines.back().login : machines.back().password) = value;
    }
  }
  for (const Machine& machine : machines)
    if (machine.login.empty() && machine.password.empty())
      return wrong("the machine " + machine.host + " has neither login nor password");
  if (machines.empty()) return wrong("it names no machine");
  return machines;
}

Result<std::vector<Machine>> load_netrc(const std::string& file) {
  Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!opened || ::fstat(opened.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return wrong("'" + file + "' cannot be read");
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return Error{.code = Code::invalid_argument,
                 .message = "index_credentials '" + file + "' is open to other users",
                 .remedy = "chmod 600 it"};
  Result<std::string> text = read_file(AT_FDCWD, file.c_str(), kMaxFile);
  if (!text) return wrong("'" + file + "' cannot be read");
  return parse_netrc(*text);
}

std::string with_credentials(const std::string& url, const std::vector<Machine>& machines) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const std::size_t begin = scheme + 3;
  const std::string where = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  if (where.find('@') != std::string::npos) return url;
  const std::string host = where.substr(0, where.find(':'));
  for (const Machine& machine : machines)
    if (machine.host == where || machine.host == host)
      return url.substr(0, begin) + quoted(machine.login) + ":" + quoted(machine.password) + "@" +
             url.substr(begin);
  return url;
}

}  // namespace vitrine::app
