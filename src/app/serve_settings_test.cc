// SPDX-License-Identifier: Apache-2.0
#include "app/serve_settings.h"

#include <gtest/gtest.h>

#include <string_view>

namespace vitrine::app {
namespace {

TEST(ServeSettings, TakeUnderscoresInTheFileAndDashesInFlags) {
  for (const Setting& setting : kSettings) {
    EXPECT_EQ(std::string_view(setting.name).find('-'), std::string_view::npos) << setting.name;
    EXPECT_EQ(flag_of(setting).find('_'), std::string::npos) << setting.name;
  }
}

}  // namespace
}  // namespace vitrine::app
