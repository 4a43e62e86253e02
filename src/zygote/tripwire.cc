// SPDX-License-Identifier: Apache-2.0
#include "zygote/tripwire.h"

#include <frameobject.h>

#include <algorithm>
#include <string_view>

#include "zygote/signals.h"

namespace vitrine::zygote {

namespace {

// All guarded by the interpreter lock.
std::uint64_t tripped = 0;  // the execution
PyObject* raised = nullptr;
std::vector<std::string> places;

bool is_place(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  const char* name = PyUnicode_AsUTF8(code->co_filename);
  if (name == nullptr) PyErr_Clear();
  const bool found = name != nullptr && std::ranges::any_of(places, [&](const std::string& prefix) {
                       return std::string_view(name).starts_with(prefix);
                     });
  Py_DECREF(code);
  return found;
}

int on_event(PyObject*, PyFrameObject* frame, int what, PyObject*) {
  if (what != PyTrace_LINE || tripped == 0 || executing() != tripped || !is_place(frame)) return 0;
  PyErr_SetNone(raised);
  return -1;
}

int begin(void*) {
  if (tripped != 0 && executing() == tripped) PyEval_SetTrace(on_event, nullptr);
  return 0;
}

}  // namespace

void trip(std::uint64_t execution, PyObject* error, std::vector<std::string> prefixes) {
  if (execution == 0 || executing() != execution) return;
  Py_XSETREF(raised, Py_NewRef(error));
  places = std::move(prefixes);
  tripped = execution;
  Py_AddPendingCall(begin, nullptr);
}

void untrip() {
  if (tripped == 0) return;
  tripped = 0;
  PyEval_SetTrace(nullptr, nullptr);
}

}  // namespace vitrine::zygote
