// SPDX-License-Identifier: Apache-2.0
// The environment variables of a message: their number, their order, and those that are refused.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "wire/codec.h"
#include "wire/messages.h"

namespace vitrine::wire {
namespace {

using SetupMessage = wire::Setup;

TEST(Environment, MayBeFullButNotFuller) {
  SetupMessage setup;
  for (std::size_t i = 0; i < kMaxEnvironment; ++i)
    setup.environment["V" + std::to_string(i)] = "x";
  EXPECT_TRUE(SetupMessage::decode(setup.encode()));

  setup.environment["ONE_MORE"] = "x";

  EXPECT_FALSE(SetupMessage::decode(setup.encode()));
}

// A whole setup message with two variables of the value "1" and "2", in this order.
std::string setup_with(std::string_view first, std::string_view second) {
  Writer out;
  out.u16(2).bytes(first).bytes("1").bytes(second).bytes("2");
  return out.u8(0).u64(0).u8(0).u16(0).u8(0).take();
}

TEST(Environment, MayComeInAnyOrder) {
  Result<SetupMessage> setup = SetupMessage::decode(setup_with("Z", "A"));

  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->environment, (Environment{{"A", "2"}, {"Z", "1"}}));
}

TEST(Environment, DoesNotSetAVariableTwice) {
  EXPECT_FALSE(SetupMessage::decode(setup_with("A", "A")));
}

TEST(Environment, RefusesVariablesThatChangeHowProgramsAreLoaded) {
  for (const char* name :
       {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_", "GLIBC_TUNABLES", "GCONV_PATH", "PYTHONPATH",
        "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "BASH_ENV", "ENV"}) {
    EXPECT_FALSE(is_allowed_variable(name, "x")) << name;
    SetupMessage setup;
    setup.environment = {{name, "x"}};
    EXPECT_FALSE(SetupMessage::decode(setup.encode())) << name;
    EXPECT_FALSE(Execute::decode(Execute{.environment = {{name, "x"}}}.encode())) << name;
  }
}

TEST(Environment, AllowsWhatOnlyLooksLikeIt) {
  for (const char* name : {"LDFLAGS", "OLD_PRELOAD", "ld_preload", "PYTHONHASHSEED", "ENVIRONMENT",
                           "MY_ENV", "PATH", "_"})
    EXPECT_TRUE(is_allowed_variable(name, "x")) << name;
}

TEST(Environment, RefusesNamesAndValuesNoProgramCouldRead) {
  EXPECT_FALSE(is_allowed_variable("", "x"));
  EXPECT_FALSE(is_allowed_variable("A=B", "x"));
  EXPECT_FALSE(is_allowed_variable(std::string_view("A\0B", 3), "x"));
  EXPECT_FALSE(is_allowed_variable("A", std::string_view("x\0y", 3)));
  EXPECT_FALSE(is_allowed_variable("\xFF", "x"));
  EXPECT_FALSE(is_allowed_variable("A", "\xFF"));
  EXPECT_TRUE(is_allowed_variable("A", "x=y"));
}

TEST(Environment, BoundsNamesAndValues) {
  EXPECT_TRUE(is_allowed_variable(std::string(256, 'n'), std::string(128 * 1024, 'v')));
  EXPECT_FALSE(is_allowed_variable(std::string(257, 'n'), ""));
  EXPECT_FALSE(is_allowed_variable("A", std::string(128 * 1024 + 1, 'v')));
}

}  // namespace
}  // namespace vitrine::wire
