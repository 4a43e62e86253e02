// SPDX-License-Identifier: Apache-2.0
// A screenshot as the answer: its bytes, and what is to be known of it in a header.
#pragma once

#include <string>
#include <vector>

#include "api/exchange.h"
#include "service/screenshots.h"

namespace vitrine::api {

// `Vitrine-Notes`, if there are any.
std::vector<Header> notes_header(const std::vector<std::string>& notes);
Task<void> send_picture(Exchange& exchange, service::Picture picture,
                        std::vector<Header> headers = {});

}  // namespace vitrine::api
