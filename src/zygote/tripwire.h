// SPDX-License-Identifier: Apache-2.0
// The last resort against code that catches every exception: each line of it raises again.
//
// It is a trace function in C, because Python removes a Python trace function that has raised once. It
// raises only while the execution that it was set for is running, and only in files whose names start
// with one of the prefixes: libraries and the runtime are not affected.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::zygote {

// Call with the GIL, from any thread. Takes effect when the main thread next runs Python code.
void trip(std::uint64_t execution, PyObject* error, std::vector<std::string> prefixes);

// Call on the main thread. Does nothing if the tripwire is not set.
void untrip();

}  // namespace vitrine::zygote
