// SPDX-License-Identifier: Apache-2.0
// Bytes that a client or session code chose, as JSON and headers can carry them.
#pragma once

#include <string>
#include <string_view>

#include "service/text.h"

namespace vitrine::api {

using service::as_text;
using service::shown;

// Content-Disposition for the last part of a path: a plain name without quotes and control bytes,
// and the exact one beside it.
std::string disposition(std::string_view path);

}  // namespace vitrine::api
