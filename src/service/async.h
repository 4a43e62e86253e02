// SPDX-License-Identifier: Apache-2.0
// The front's clock and its tasks, for protocols: they include nothing from below the door.
#pragma once

#include "backend/clock.h"
#include "backend/spawn.h"
