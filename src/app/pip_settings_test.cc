// SPDX-License-Identifier: Apache-2.0
#include "app/pip_settings.h"

#include <gtest/gtest.h>

#include <map>

namespace vitrine::app {
namespace {

using Texts = std::map<std::string, std::string>;

PipSettings read(const Texts& variables, const Texts& files) {
  const auto get = [](const Texts& from, const std::string& key) {
    const auto found = from.find(key);
    return found == from.end() ? std::string() : found->second;
  };
  return read_pip_settings([&](const char* name) { return get(variables, name); },
                           [&](const std::string& path) { return get(files, path); });
}

TEST(PipSettings, AreEmptyWhereNobodySetAnything) {
  const PipSettings settings = read({{"HOME", "/h"}}, {});

  EXPECT_EQ(settings.index_url, "");
  EXPECT_TRUE(settings.find_links.empty());
}

TEST(PipSettings, ComeFromTheFilesOfHostAndUser) {
  const PipSettings settings =
      read({{"HOME", "/h"}},
           {{"/etc/pip.conf", "[global]\nindex-url = https://a.example/simple\ncert=/c.pem\n"},
            {"/h/.config/pip/pip.conf",
             "# mine\n[install]\nindex_url: https://b.example/simple\n[list]\nindex-url = no\n"
             "[global]\nextra-index-url =\n    https://c.example/x\n    https://d.example/x\n"}});

  EXPECT_EQ(settings.index_url, "https://b.example/simple");
  EXPECT_EQ(settings.extra_index_urls,
            (std::vector<std::string>{"https://c.example/x", "https://d.example/x"}));
  EXPECT_EQ(settings.certificates, "/c.pem");
}

TEST(PipSettings, OfTheEnvironmentWin) {
  const PipSettings settings =
      read({{"HOME", "/h"},
            {"PIP_INDEX_URL", "https://e.example"},
            {"UV_DEFAULT_INDEX", "https://u.example"}},
           {{"/etc/pip.conf", "[global]\nindex-url = https://a.example\n"}});

  EXPECT_EQ(settings.index_url, "https://e.example");
}

}  // namespace
}  // namespace vitrine::app
