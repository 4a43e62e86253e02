// SPDX-License-Identifier: Apache-2.0
// A session as protocols hold it: to be looked at. What is done to it goes through the door.
#pragma once

#include <memory>

#include "session/session.h"

namespace vitrine::service {

using SessionRef = std::shared_ptr<const session::Session>;

// For the door's own use: every SessionRef is of a session of the registry, which are not const.
inline std::shared_ptr<session::Session> own(const SessionRef& session) {
  return std::const_pointer_cast<session::Session>(session);
}

}  // namespace vitrine::service
