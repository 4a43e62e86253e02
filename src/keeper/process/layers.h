// SPDX-License-Identifier: Apache-2.0
// Package layers inside the builder: directories, seen as one read-only tree in one session more.
//
// Each session gets an overlay of its own: locks on its files are its own, and no path of the host
// shows in its mountinfo. The layers' files are data to us: nothing of them is run or read here.
// Threading: the builder's one thread, in its staging directory.
#pragma once

#include <string>

#include "base/result.h"
#include "model/layer.h"

namespace vitrine::keeper {

// Covers what is mounted there. `init` is a pidfd of the shell's pid 1; either the layers or the
// environment may be empty. `not_found` if one of them does not exist (any more).
Status mount_layers(const LayerList& layers, const std::string& environment, int init);

// In the root of a zygote that is being made, below `root`.
Status mount_environment(const std::string& environment, const std::string& root);

}  // namespace vitrine::keeper
