// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/errors.h"

#include <gtest/gtest.h>

#include "provision/package_errors.h"

namespace vitrine::api::openenv {
namespace {

TEST(OpenenvErrors, NameThePackageReasonBeforeTheText) {
  EXPECT_EQ(text_of(provision::explain("no_wheel", "none for 3.11")), "no_wheel: none for 3.11");
}

TEST(OpenenvErrors, TellAQuotaInItsWordsAlone) {
  const Error refusal{.code = Code::unavailable, .message = "enough", .reason = "quota_sessions"};

  EXPECT_EQ(text_of(refusal), "enough");
  EXPECT_TRUE(is_capacity(refusal));
}

TEST(OpenenvErrors, AWrongPackageIsNoLackOfRoom) {
  EXPECT_FALSE(is_capacity(provision::explain("no_wheel", "none")));
  EXPECT_TRUE(is_capacity(provision::explain("offline", "no way to the index")));
}

}  // namespace
}  // namespace vitrine::api::openenv
