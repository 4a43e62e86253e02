// SPDX-License-Identifier: Apache-2.0
// The last means against code that catches everything: each line of it that is reached raises.
//
// A trace function in C, since Python removes one of its own kind after it raised once. It strikes only
// while the execution it was set for is running, and only in files whose names start with one of the
// prefixes: code of libraries and of the runtime is let through.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::zygote {

// With the interpreter lock, from any thread: takes hold when the main thread next runs Python code.
void trip(std::uint64_t execution, PyObject* error, std::vector<std::string> prefixes);

// On the main thread. Returns at once if nothing was tripped.
void untrip();

}  // namespace vitrine::zygote
