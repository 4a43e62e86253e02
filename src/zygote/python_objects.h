// SPDX-License-Identifier: Apache-2.0
// Messages of the client as Python objects: the tuples that `_vitrine.receive()` returns.
//
// Every function returns a new reference, or null with a Python exception set.
// Threading: the caller holds the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

#include "wire/messages.h"

namespace vitrine::zygote {

// ("setup", 0, {"env", "seed", "policy", "imports", "packages_first"})
PyObject* setup_object(const wire::Setup& setup);
// ("execute", id, {"code", "stdin", "interactive", "env", "result_limit", "render_ms", "line_ms"})
PyObject* execute_object(std::uint64_t id, const wire::Execute& execute);
// ("input", id, bytes), or None in place of the bytes for the end of the input.
PyObject* input_object(std::uint64_t id, const wire::Input& input);
// ("package_reply", id, {"added", "code", "detail", "remedy"})
PyObject* package_reply_object(std::uint64_t id, const wire::PackageReply& reply);

}  // namespace vitrine::zygote
