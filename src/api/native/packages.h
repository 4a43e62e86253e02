// SPDX-License-Identifier: Apache-2.0
// Packages over HTTP: the routes below /v1/packages, and those of a live session.
#pragma once

#include "api/router.h"
#include "service/operations.h"

namespace vitrine::api {

// Adds the routes. Everything must outlive the router.
void add_package_routes(Router& router, service::Operations& operations,
                        service::Packages& packages);

}  // namespace vitrine::api
