// SPDX-License-Identifier: Apache-2.0
// /openapi.json, made from the routes themselves, so that it cannot name one that does not exist.
#pragma once

#include <string>

#include "api/router.h"

namespace vitrine::api {

std::string openapi_json(const Router& router, const std::string& version);

}  // namespace vitrine::api
