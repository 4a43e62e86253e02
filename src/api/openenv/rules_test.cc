// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/rules.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "api/openenv/judge.h"
#include "testing/temp_dir.h"

namespace vitrine::api::openenv {
namespace {

namespace json = boost::json;

// Code as models write it, the edges of every rule, and what a session would turn into Python first.
std::vector<std::string> corpus() {
  std::vector<std::string> all{"",
                               " ",
                               "\n\n",
                               "1",
                               "print(1)",
                               "x = 1\n",
                               "import os",
                               "import  \t os",
                               "import\tos",
                               "import\u00a0os",
                               "import\u3000os",
                               "import\u2028os",
                               "import\x1cos",
                               "import\nos",
                               "importos",
                               "import ostrich",
                               "from os import path",
                               "import sys, os",
                               "import subprocess",
                               "import sub",
                               "eval('1')",
                               "eval ('1')",
                               "myexec('1')",
                               "reopen(1)",
                               "# open(",
                               "'import os'",
                               "__import__",
                               "__import",
                               "import os; eval('exec(1)')",
                               "Import os",
                               "def f(:",
                               "x = = 1",
                               "x = 1\u0001",
                               "!ls",
                               "x = !ls",
                               "x =  %time 1",
                               "%time 1",
                               "%%bash\nls",
                               "len?",
                               "?len",
                               "pip install x",
                               " x = 1",
                               "\tx = 1\n\ty = 2",
                               "if 1:\n\tx\n        y",
                               "1 / 0",
                               "return 1",
                               "await x",
                               "yield 1",
                               "1 <> 2",
                               "x = 7 % 3",
                               "print('%d' % 3)",
                               "a != b",
                               "x = ('a'\n  % 1)",
                               "f'{1!r}'",
                               "async def f():\n    await g()\n",
                               "match x:\n    case 1:\n        pass\n",
                               "lambda: (yield)",
                               "\"\"\"doc\"\"\"\nimport os\n",
                               "class A:\n    def open(self): pass\n",
                               "\f1",
                               "\ufeff1",
                               "é = 1",
                               "print('é\u3000ü')  # \U0001F600",
                               "x" + std::string(300, ' '),
                               "\u3000x\u00a0",
                               "\x1f"
                               "1"};
  for (const char* unit : {"x", "\u00e9", "\U0001F600", " ", "\u2003", "1+"})
    for (std::size_t count : {99u, 100u, 101u, 102u}) {
      std::string code;
      for (std::size_t i = 0; i < count; ++i) code += unit;
      all.push_back(code);
      all.push_back("'" + code + "'");
      all.push_back(code + "1");
      all.push_back("import os #" + code);
    }
  return all;
}

// What the judging program says of each: its reward, and whether it parses.
json::array asked_of_python(const std::vector<std::string>& codes) {
  const vitrine::testing::TempDir directory;
  const std::string& at = directory.path();
  json::array steps;
  for (const std::string& code : codes)
    steps.push_back(json::object{
        {"code", code}, {"outcome", "ok"}, {"exit_code", 0}, {"stdout", ""}, {"stderr", ""}});
  std::ofstream(at + "/rules") << openenv_rules();
  std::ofstream(at + "/steps") << json::serialize(steps);
  std::ofstream(at + "/judge.py")
      << judging_program() << "\nsteps = json.load(open('" + at + "/steps'))\n"
      << "print(json.dumps([[_judged(s).hex(), _parses(s['code'])] for s in steps]))\n";
  std::FILE* pipe =
      ::popen(("python3 -W ignore " + at + "/judge.py < " + at + "/rules").c_str(), "r");
  std::string said;
  char block[4096];
  while (const std::size_t got = std::fread(block, 1, sizeof block, pipe)) said.append(block, got);
  ::pclose(pipe);
  EXPECT_TRUE(said.starts_with("ok\n")) << said;
  boost::system::error_code failed;
  json::value list = json::parse(said.substr(std::min<std::size_t>(3, said.size())), failed);
  return failed ? json::array{} : list.as_array();
}

TEST(OpenEnvRules, GiveToTheBitWhatPythonGives) {
  const std::vector<std::string> codes = corpus();
  const json::array wanted = asked_of_python(codes);
  ASSERT_EQ(wanted.size(), codes.size());

  std::size_t decided = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Judged ran{.code = codes[i]};
    const Judged failed{.code = codes[i], .outcome = Outcome::exception, .error = "NameError"};
    const Judged refused{.code = codes[i], .outcome = Outcome::exception, .error = "SyntaxError"};
    const double truth = std::strtod(wanted[i].at(0).as_string().c_str(), nullptr);

    EXPECT_EQ(openenv_reward(refused), std::nullopt) << codes[i];
    if (!wanted[i].at(1).as_bool()) continue;  // cannot have run as it is; the next test
    for (const Judged& one : {ran, failed})
      if (const std::optional<double> reward = openenv_reward(one)) {
        ++decided;
        EXPECT_EQ(*reward, truth) << codes[i];
      }
  }
  EXPECT_GT(decided, codes.size());  // most are decided here, in both ways that code can end
}

// Code that is no Python but runs: the session turned it into Python, so only a Python can tell.
TEST(OpenEnvRules, LeaveToPythonWhatASessionTransforms) {
  for (const char* code :
       {"!ls", "x = !ls", "x =  %time 1", "%time 1", "%%bash\nls", "len?", "?len", "pip install x",
        " x = 1", "\tx = 1\n\ty = 2", "1 <> 2", "\u3000!ls", "x = 1\n  !ls", "uv pip install y",
        "conda install z", "x =\u3000!ls", "len?\u00a0"}) {
    EXPECT_EQ(openenv_reward({.code = code}), std::nullopt) << code;
  }
}

TEST(OpenEnvRules, LeaveToPythonWhatEndedBeforeItIsKnownToHaveParsed) {
  for (const Outcome outcome :
       {Outcome::timeout, Outcome::oom, Outcome::crashed, Outcome::interrupted, Outcome::policy})
    EXPECT_EQ(openenv_reward({.code = "1", .outcome = outcome}), std::nullopt);
  for (const char* error : {"SyntaxError", "IndentationError", "MemoryError", "RecursionError", ""})
    EXPECT_EQ(openenv_reward({.code = "1", .outcome = Outcome::exception, .error = error}),
              std::nullopt);
  EXPECT_EQ(openenv_reward({.code = "1",
                            .policy = Policy::smolagents,
                            .outcome = Outcome::exception,
                            .error = "InterpreterError"}),
            std::nullopt);
}

TEST(OpenEnvRules, LeaveToPythonCodeOfWhichOnlyTheBeginningCounts) {
  const std::string code(kMaxJudgedCode + 1, '1');

  EXPECT_EQ(openenv_reward({.code = code}), std::nullopt);
}

}  // namespace
}  // namespace vitrine::api::openenv
