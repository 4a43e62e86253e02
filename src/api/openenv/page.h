// SPDX-License-Identifier: Apache-2.0
// The page at /web/: one box for code, what came of it, nothing loaded from elsewhere.
#pragma once

#include <string>

namespace vitrine::api::openenv {

std::string page_html();

}  // namespace vitrine::api::openenv
