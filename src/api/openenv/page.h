// SPDX-License-Identifier: Apache-2.0
// Pages that load nothing from elsewhere: at /web/ one box for code and what came of it, at /docs and
// /redoc the description of /openapi.json.
#pragma once

#include <string>

namespace vitrine::api::openenv {

std::string page_html();
std::string docs_html();

}  // namespace vitrine::api::openenv
