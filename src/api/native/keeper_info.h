// SPDX-License-Identifier: Apache-2.0
// What /v1/info says of the keeper.
#pragma once

#include <boost/json.hpp>

#include "model/keeper_info.h"

namespace vitrine::api {

// {"python", "isolation", "capacity", "egress", "pools", "zygotes", "processes", "environments"}; the image alone
// is an environment, too.
boost::json::object keeper_json(const KeeperInfo& info);

}  // namespace vitrine::api
