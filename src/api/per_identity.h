// SPDX-License-Identifier: Apache-2.0
// Routes of an adapter that knows no identities, once for each of them: what it keeps between two
// requests (an environment without a cookie, a page's state) is then never another one's.
#pragma once

#include <functional>
#include <vector>

#include "api/router.h"

namespace vitrine::api {

// `add` is called for every identity and adds the same routes in the same order each time.
void add_per_identity(Router& router, const std::vector<const Identity*>& identities,
                      const std::function<void(Router&, const Identity&)>& add);

}  // namespace vitrine::api
