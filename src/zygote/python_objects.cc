// SPDX-License-Identifier: Apache-2.0
#include "zygote/python_objects.h"

#include <memory>
#include <string>
#include <vector>

namespace vitrine::zygote {

namespace {

struct Decref {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Ref = std::unique_ptr<PyObject, Decref>;

PyObject* text_object(const std::string& text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* bytes_object(const std::string& bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

bool put(PyObject* dict, const char* name, PyObject* value) {
  const Ref owned(value);
  return owned != nullptr && PyDict_SetItemString(dict, name, value) == 0;
}

PyObject* environment_object(const wire::Environment& environment) {
  Ref dict(PyDict_New());
  for (const auto& [name, value] : environment) {
    const Ref text(text_object(value));
    if (text == nullptr || PyDict_SetItemString(dict.get(), name.c_str(), text.get()) != 0)
      return nullptr;
  }
  return dict.release();
}

PyObject* none() { return Py_NewRef(Py_None); }

PyObject* list_object(const std::vector<std::string>& texts) {
  Ref list(PyList_New(0));
  for (const std::string& text : texts) {
    const Ref item(text_object(text));
    if (item == nullptr || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

}  // namespace

PyObject* setup_object(const wire::Setup& setup) {
  Ref body(PyDict_New());
  if (!put(body.get(), "env", environment_object(setup.environment)) ||
      !put(body.get(), "seed", setup.seed ? PyLong_FromUnsignedLongLong(*setup.seed) : none()) ||
      !put(body.get(), "policy", text_object(std::string(to_string(setup.policy)))) ||
      !put(body.get(), "imports", list_object(setup.imports)) ||
      !put(body.get(), "packages_first", PyBool_FromLong(setup.packages_first ? 1 : 0)))
    return nullptr;
  return Py_BuildValue("(siN)", "setup", 0, body.release());
}

PyObject* execute_object(std::uint64_t id, const wire::Execute& execute) {
  Ref body(PyDict_New());
  const bool given = execute.stdin_mode == wire::Stdin::given;
  const bool interactive = execute.stdin_mode == wire::Stdin::interactive;
  if (!put(body.get(), "code", text_object(execute.code)) ||
      !put(body.get(), "stdin", given ? bytes_object(execute.stdin_bytes) : none()) ||
      !put(body.get(), "interactive", PyBool_FromLong(interactive ? 1 : 0)) ||
      !put(body.get(), "env", environment_object(execute.environment)) ||
      !put(body.get(), "result_limit", PyLong_FromUnsignedLongLong(execute.result_limit)) ||
      !put(body.get(), "render_ms", PyLong_FromUnsignedLong(execute.render_ms)) ||
      !put(body.get(), "line_ms", PyLong_FromUnsignedLong(execute.line_ms)))
    return nullptr;
  return Py_BuildValue("(sKN)", "execute", id, body.release());
}

PyObject* input_object(std::uint64_t id, const wire::Input& input) {
  return Py_BuildValue("(sKN)", "input", id,
                       input.end_of_file ? none() : bytes_object(input.bytes));
}

PyObject* package_reply_object(std::uint64_t id, const wire::PackageReply& reply) {
  Ref body(PyDict_New());
  if (!put(body.get(), "added", list_object(reply.added)) ||
      !put(body.get(), "code", text_object(reply.code)) ||
      !put(body.get(), "detail", text_object(reply.detail)) ||
      !put(body.get(), "remedy", text_object(reply.remedy)))
    return nullptr;
  return Py_BuildValue("(sKN)", "package_reply", id, body.release());
}

}  // namespace vitrine::zygote
