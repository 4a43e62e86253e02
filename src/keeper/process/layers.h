// SPDX-License-Identifier: Apache-2.0
// Package layers inside the builder: one directory, seen read-only in one session more.
//
// Each session gets an overlay of its own: locks on its files are its own, and no path of the host
// shows in its mountinfo. The layer's files are data to us: nothing of them is run or read here.
// Threading: the builder's one thread, in its staging directory.
#pragma once

#include <string>

#include "base/result.h"

namespace vitrine::keeper {

// `init` is a pidfd of the shell's pid 1; one of layer and environment may be "". `not_found` if there is
// no such one (any more).
Status mount_layer(const std::string& layer, const std::string& environment, int init);

// In the root of a zygote that is being made, below `root`.
Status mount_environment(const std::string& environment, const std::string& root);

}  // namespace vitrine::keeper
