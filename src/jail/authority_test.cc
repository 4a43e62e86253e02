// SPDX-License-Identifier: Apache-2.0
#include "jail/authority.h"

#include <gtest/gtest.h>

#include "model/geometry.h"

namespace vitrine::jail {
namespace {

TEST(Authority, IsOneCookieForAnyDisplayAndForThisHosts) {
  Cookie cookie{};
  cookie.fill('k');

  const std::string bytes = authority_bytes(cookie);

  const std::string secret =
      std::string("\0\x12MIT-MAGIC-COOKIE-1\0\x10", 22) + std::string(16, 'k');
  const std::string any = std::string("\xFF\xFF\0\0\0\0", 6) + secret;
  const std::string here = std::string(
                               "\x01\0\0\x07sandbox\0\x02"
                               "99",
                               15) +
                           secret;
  EXPECT_EQ(bytes, any + here);
  static_assert(kDisplayNumber == 99);
}

}  // namespace
}  // namespace vitrine::jail
