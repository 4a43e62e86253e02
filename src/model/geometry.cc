// SPDX-License-Identifier: Apache-2.0
#include "model/geometry.h"

namespace vitrine {

Status Geometry::validate() const {
  const auto fits = [](std::uint32_t side) { return side >= kLeastScreen && side <= kMostScreen; };
  if (fits(width) && fits(height)) return ok();
  return Error{.code = Code::invalid_argument,
               .message = "display: width and height must be from 64 to 4096",
               .remedy = "send for example {\"width\": 1024, \"height\": 768}"};
}

}  // namespace vitrine
