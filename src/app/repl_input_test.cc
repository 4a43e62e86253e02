// SPDX-License-Identifier: Apache-2.0
#include "app/repl_input.h"

#include <gtest/gtest.h>

namespace vitrine::app {
namespace {

TEST(ReplInput, SendsWhatIsWhole) {
  for (const char* code :
       {"1 + 1\n", "x = [1, 2]\n", "x[1:2]\n", "f = lambda: 3\n", "\n", "s = 'it''s (not open'\n",
        "# a comment:\n", "x = '''a\nb'''\n", "print(\n1\n)\n", "'unclosed\n", ")\n"})
    EXPECT_EQ(judge(code), Typed::complete) << code;
}

TEST(ReplInput, WaitsForTheRest) {
  for (const char* code :
       {"if x:\n", "for i in y:  # all\n", "def f():\n  return 1\n", "f(1,\n", "x = '''a\n",
        "x = '''a\n\n", "x = 1 + \\\n", "@decorated\n", "d = {\n\n", "class A:\n  x = ']'\n"})
    EXPECT_EQ(judge(code), Typed::wants_more) << code;
}

TEST(ReplInput, EndsABlockWithAnEmptyLine) {
  EXPECT_EQ(judge("if x:\n  y()\n\n"), Typed::complete);
  EXPECT_EQ(judge("@d\ndef f(): pass\n  \n"), Typed::complete);
}

}  // namespace
}  // namespace vitrine::app
