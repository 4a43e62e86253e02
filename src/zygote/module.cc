// SPDX-License-Identifier: Apache-2.0
// The Python module `_vitrine`: what vitrine_runtime needs from the native side, and nothing else.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "jail/seccomp.h"
#include "jail/worker.h"
#include "wire/messages.h"
#include "wire/signals.h"
#include "zygote/channel.h"
#include "zygote/fork_loop.h"
#include "zygote/python_objects.h"
#include "zygote/signals.h"
#include "zygote/tripwire.h"

namespace vitrine::zygote {

namespace {

std::unique_ptr<Channel> channel;  // of the worker; made after the fork
pid_t worker_pid = -1;

PyObject* raise(const Error& error) {
  PyErr_SetString(error.code == Code::unavailable ? PyExc_EOFError : PyExc_OSError,
                  error.describe().c_str());
  return nullptr;
}

bool is_worker() { return worker_pid == ::getpid(); }

PyObject* raise_unless_worker() {
  if (is_worker()) return Py_None;
  PyErr_SetString(PyExc_RuntimeError, "only the session's own process talks to the client");
  return nullptr;
}

void leave_socket_in_child() {
  // A child forked by user code must never use the session's socket.
  if (worker_pid != -1) ::close(jail::kSessionSocket);
}

Result<std::vector<sock_filter>> read_filter(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return Error::from_errno("looking at a filter");
  const auto size = static_cast<std::size_t>(info.st_size);
  std::vector<sock_filter> program(size / sizeof(sock_filter));
  if (program.empty() || size % sizeof(sock_filter) != 0 ||
      ::pread(fd, program.data(), size, 0) != static_cast<ssize_t>(size))
    return Error{Code::internal, "a filter is damaged"};
  return program;
}

// serve_forks(control, zygote_filter, worker_filter) -> bool
PyObject* py_serve_forks(PyObject*, PyObject* args) {
  int control = -1;
  int zygote_fd = -1;
  int worker_fd = -1;
  if (PyArg_ParseTuple(args, "iii", &control, &zygote_fd, &worker_fd) == 0) return nullptr;
  // Of the interpreter that runs, not of the headers: they may be of another patch release.
  set_python_version(std::to_string(Py_Version >> 24) + "." +
                     std::to_string((Py_Version >> 16) & 0xff) + "." +
                     std::to_string((Py_Version >> 8) & 0xff));
  // Never freed: every worker installs it right after its fork.
  static std::vector<sock_filter> worker_filter;
  Result<std::vector<sock_filter>> zygote_filter = read_filter(zygote_fd);
  if (!zygote_filter) return raise(zygote_filter.error());
  Result<std::vector<sock_filter>> read = read_filter(worker_fd);
  if (!read) return raise(read.error());
  worker_filter = std::move(*read);
  ::pthread_atfork(nullptr, nullptr, leave_socket_in_child);

  PyOS_BeforeFork();  // takes the interpreter's locks, which every child releases
  Result<Forked> forked = serve_forks(control, *zygote_filter, worker_filter);
  if (!forked) {
    PyOS_AfterFork_Parent();
    return raise(forked.error());
  }
  PyOS_AfterFork_Child();
  worker_pid = ::getpid();
  channel = std::make_unique<Channel>(jail::kSessionSocket);
  install_signals(jail::kSessionSocket);
  ::setvbuf(stdout, nullptr, _IOLBF,
            0);  // output of C code is line-buffered, as on a terminal
  return PyBool_FromLong(forked->rehearse ? 1 : 0);
}

PyObject* py_ready(PyObject*, PyObject*) {
  if (raise_unless_worker() == nullptr) return nullptr;
  if (Status s = channel->send_ready(); !s) return raise(s.error());
  Py_RETURN_NONE;
}

// Blocks the interrupt signals in this thread during its lifetime.
class SignalGate {
 public:
  SignalGate() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, wire::interrupt_signal());
    sigaddset(&set, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~SignalGate() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;
  const sigset_t& open() const { return before_; }

 private:
  sigset_t before_{};
};

// A request that cannot be decoded is answered like an execution that failed.
void refuse_execution(std::uint64_t id, const Error& error) {
  const wire::ErrorReport report{
      .name = "InvalidRequest", .value = error.message, .traceback = error.message + "\n"};
  const wire::Finished finished{.claim = wire::Claim::exception, .exit_code = 1};
  (void)(channel->send(wire::Type::error, id, report.encode()) &&
         channel->send(wire::Type::finished, id, finished.encode()));
}

PyObject* message_object(const wire::Message& message) {
  switch (message.type) {
    case wire::Type::setup: {
      Result<wire::Setup> setup = wire::Setup::decode(message.payload);
      if (!setup) ::_exit(1);  // a session must not run without its setup
      return setup_object(*setup);
    }
    case wire::Type::execute: {
      Result<wire::Execute> execute = wire::Execute::decode(message.payload);
      if (execute) return execute_object(message.execution, *execute);
      refuse_execution(message.execution, execute.error());
      return Py_NewRef(Py_None);
    }
    case wire::Type::input: {
      Result<wire::Input> input = wire::Input::decode(message.payload);
      if (!input)
        input =
            wire::Input{.end_of_file = true, .bytes = {}};  // undecodable: treated as end of file
      return input_object(message.execution, *input);
    }
    case wire::Type::package_reply: {
      Result<wire::PackageReply> reply = wire::PackageReply::decode(message.payload);
      if (reply) return package_reply_object(message.execution, *reply);
      return package_reply_object(
          message.execution, {.code = "install_failed", .detail = "the answer cannot be read"});
    }
    default: return raise(Error{Code::internal, "an unexpected message"});
  }
}

// receive() -> (kind, id, body)
PyObject* py_receive(PyObject*, PyObject*) {
  if (raise_unless_worker() == nullptr) return nullptr;
  for (;;) {
    Result<std::optional<wire::Message>> message = std::optional<wire::Message>{};
    // Signals stay blocked until ppoll() unblocks them: one that arrived just before would be missed.
    const SignalGate gate;
    if (PyErr_CheckSignals() != 0) {
      if (executing() != 0) return nullptr;
      PyErr_Clear();
    }
    Py_BEGIN_ALLOW_THREADS;
    message = channel->receive(gate.open());
    Py_END_ALLOW_THREADS;
    if (message) {
      if (!*message) continue;
      PyObject* object = message_object(**message);
      if (object != Py_None) return object;
      Py_DECREF(object);  // it was answered already
      continue;
    }
    if (message.error().code != Code::timed_out) return raise(message.error());
    if (PyErr_CheckSignals() == 0) continue;
    if (executing() != 0) return nullptr;  // during input(): the interrupt is for user code
    PyErr_Clear();
  }
}

PyObject* send(wire::Type type, unsigned long long id, const std::string& payload,
               Channel::When when = Channel::When::now) {
  if (raise_unless_worker() == nullptr) return nullptr;
  Status sent;
  ::fflush(stdout);  // earlier output of C code must arrive first
  Py_BEGIN_ALLOW_THREADS;
  sent = channel->send(type, id, payload, when);
  Py_END_ALLOW_THREADS;
  if (!sent) return raise(sent.error());
  Py_RETURN_NONE;
}

// send_result(id, kind, display_id, bundle, metadata)
PyObject* py_send_result(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  int kind = 0;
  const char* display_id = nullptr;
  PyObject* bundle = nullptr;
  Py_buffer metadata{};
  if (PyArg_ParseTuple(args, "KisO!y*", &id, &kind, &display_id, &PyDict_Type, &bundle,
                       &metadata) == 0)
    return nullptr;
  wire::ResultBundle result{
      .kind = static_cast<wire::ResultKind>(kind),
      .display_id = display_id,
      .data = {},
      .metadata = {static_cast<const char*>(metadata.buf), static_cast<std::size_t>(metadata.len)}};
  PyBuffer_Release(&metadata);
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(bundle, &position, &key, &value) != 0) {
    const char* mime = PyUnicode_AsUTF8(key);
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    if (mime == nullptr || PyBytes_AsStringAndSize(value, &bytes, &size) != 0) return nullptr;
    result.data.emplace_back(mime, std::string(bytes, static_cast<std::size_t>(size)));
  }
  // The value is the last message before Finished, so both can share a datagram.
  const bool last = result.kind == wire::ResultKind::value;
  return send(wire::Type::result, id, result.encode(),
              last ? Channel::When::with_next : Channel::When::now);
}

PyObject* py_flush(PyObject*, PyObject*) {
  if (raise_unless_worker() == nullptr) return nullptr;
  Status sent;
  Py_BEGIN_ALLOW_THREADS;
  sent = channel->flush();
  Py_END_ALLOW_THREADS;
  if (!sent) return raise(sent.error());
  Py_RETURN_NONE;
}

// send_error(id, name, value, traceback)
PyObject* py_send_error(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  const char* name = nullptr;
  const char* value = nullptr;
  const char* traceback = nullptr;
  Py_ssize_t sizes[3] = {};
  if (PyArg_ParseTuple(args, "Ks#s#s#", &id, &name, &sizes[0], &value, &sizes[1], &traceback,
                       &sizes[2]) == 0)
    return nullptr;
  const wire::ErrorReport report{.name = {name, static_cast<std::size_t>(sizes[0])},
                                 .value = {value, static_cast<std::size_t>(sizes[1])},
                                 .traceback = {traceback, static_cast<std::size_t>(sizes[2])}};
  return send(wire::Type::error, id, report.encode(), Channel::When::with_next);
}

PyObject* py_send_note(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  const char* text = nullptr;
  Py_ssize_t size = 0;
  if (PyArg_ParseTuple(args, "Ks#", &id, &text, &size) == 0) return nullptr;
  return send(wire::Type::note, id, std::string(text, static_cast<std::size_t>(size)),
              Channel::When::with_next);
}

PyObject* py_send_input_request(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  const char* prompt = nullptr;
  Py_ssize_t size = 0;
  int password = 0;
  if (PyArg_ParseTuple(args, "Ks#p", &id, &prompt, &size, &password) == 0) return nullptr;
  const wire::InputRequest request{.prompt = {prompt, static_cast<std::size_t>(size)},
                                   .password = password != 0};
  return send(wire::Type::input_request, id, request.encode());
}

// send_package_request(id, packages)
PyObject* py_send_package_request(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  PyObject* packages = nullptr;
  if (PyArg_ParseTuple(args, "KO!", &id, &PyList_Type, &packages) == 0) return nullptr;
  wire::PackageRequest request;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(packages); ++i) {
    const char* name = PyUnicode_AsUTF8(PyList_GET_ITEM(packages, i));
    if (name == nullptr) return nullptr;
    request.packages.emplace_back(name);
  }
  return send(wire::Type::package_request, id, request.encode());
}

// send_finished(id, outcome, exit_code)
PyObject* py_send_finished(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  const char* outcome = nullptr;
  int exit_code = 0;
  if (PyArg_ParseTuple(args, "Ksi", &id, &outcome, &exit_code) == 0) return nullptr;
  const std::string_view name = outcome;
  wire::Finished finished{.exit_code = static_cast<std::uint8_t>(exit_code)};
  if (name == "ok") finished.claim = wire::Claim::ok;
  else if (name == "exception") finished.claim = wire::Claim::exception;
  else if (name == "policy") finished.claim = wire::Claim::policy;
  else if (name == "interrupted") finished.claim = wire::Claim::interrupted;
  else return raise(Error{Code::invalid_argument, "no such outcome"});
  return send(wire::Type::finished, id, finished.encode());
}

PyObject* py_send_painted(PyObject*, PyObject* arg) {
  const unsigned long long id = PyLong_AsUnsignedLongLong(arg);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return send(wire::Type::painted, id, "");
}

// send_line(id, line): from any thread.
PyObject* py_send_line(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  unsigned int line = 0;
  if (PyArg_ParseTuple(args, "KI", &id, &line) == 0) return nullptr;
  if (raise_unless_worker() == nullptr) return nullptr;
  if (executing() == id) channel->send_line(id, line);
  Py_RETURN_NONE;
}

// captured(id, milliseconds) -> bool
PyObject* py_captured(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  unsigned int milliseconds = 0;
  if (PyArg_ParseTuple(args, "KI", &id, &milliseconds) == 0) return nullptr;
  if (raise_unless_worker() == nullptr) return nullptr;
  bool captured = false;
  Py_BEGIN_ALLOW_THREADS;
  captured = channel->captured(id, std::chrono::milliseconds(milliseconds));
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(captured ? 1 : 0);
}

// wait_for_loop_end(id, milliseconds) -> "" | "still" | "painting" | "over"
PyObject* py_wait_for_loop_end(PyObject*, PyObject* args) {
  unsigned long long id = 0;
  unsigned int milliseconds = 0;
  if (PyArg_ParseTuple(args, "KI", &id, &milliseconds) == 0) return nullptr;
  LoopEnd end = LoopEnd::over;
  Py_BEGIN_ALLOW_THREADS;
  end = wait_for_loop_end(id, std::chrono::milliseconds(milliseconds));
  Py_END_ALLOW_THREADS;
  switch (end) {
    case LoopEnd::unasked: return PyUnicode_FromString("");
    case LoopEnd::still: return PyUnicode_FromString("still");
    case LoopEnd::painting: return PyUnicode_FromString("painting");
    case LoopEnd::over: break;
  }
  return PyUnicode_FromString("over");
}

PyObject* py_wake_loop_ender(PyObject*, PyObject*) {
  wake_loop_ender();
  Py_RETURN_NONE;
}

PyObject* py_strike(PyObject*, PyObject* arg) {
  const unsigned long long id = PyLong_AsUnsignedLongLong(arg);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return PyBool_FromLong(is_worker() && strike(id) ? 1 : 0);
}

// trip(id, error, *prefixes): every line of files with such a name raises `error`, until the end.
PyObject* py_trip(PyObject*, PyObject* args) {
  const Py_ssize_t size = PyTuple_GET_SIZE(args);
  if (size < 2) {
    PyErr_SetString(PyExc_TypeError, "trip(id, error, *prefixes)");
    return nullptr;
  }
  const unsigned long long id = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(args, 0));
  if (PyErr_Occurred() != nullptr) return nullptr;
  std::vector<std::string> prefixes;
  for (Py_ssize_t i = 2; i < size; ++i) {
    const char* prefix = PyUnicode_AsUTF8(PyTuple_GET_ITEM(args, i));
    if (prefix == nullptr) return nullptr;
    prefixes.emplace_back(prefix);
  }
  trip(id, PyTuple_GET_ITEM(args, 1), std::move(prefixes));
  Py_RETURN_NONE;
}

PyObject* py_untrip(PyObject*, PyObject*) {
  untrip();
  Py_RETURN_NONE;
}

PyObject* py_executing(PyObject*, PyObject* arg) {
  const unsigned long long id = PyLong_AsUnsignedLongLong(arg);
  if (PyErr_Occurred() != nullptr) return nullptr;
  set_executing(id);
  Py_RETURN_NONE;
}

PyObject* py_interrupted(PyObject*, PyObject*) {
  return PyBool_FromLong(was_interrupted() ? 1 : 0);
}
PyObject* py_is_worker(PyObject*, PyObject*) { return PyBool_FromLong(is_worker() ? 1 : 0); }

PyMethodDef methods[] = {
    {"serve_forks", py_serve_forks, METH_VARARGS, "Serve as a zygote; returns in each worker."},
    {"ready", py_ready, METH_NOARGS, "Tell the keeper that this worker is ready."},
    {"receive", py_receive, METH_NOARGS, "Wait for the client's next message."},
    {"flush", py_flush, METH_NOARGS, "Send the messages that were held back."},
    {"send_result", py_send_result, METH_VARARGS, "Send a MIME bundle."},
    {"send_error", py_send_error, METH_VARARGS, "Send an exception."},
    {"send_note", py_send_note, METH_VARARGS, "Send a remark."},
    {"send_input_request", py_send_input_request, METH_VARARGS, "Ask the client for a line."},
    {"send_package_request", py_send_package_request, METH_VARARGS, "Ask for packages."},
    {"send_finished", py_send_finished, METH_VARARGS, "End an execution."},
    {"send_painted", py_send_painted, METH_O, "The toolkits have painted; they are kept going."},
    {"send_line", py_send_line, METH_VARARGS, "Send the number of the line that runs."},
    {"captured", py_captured, METH_VARARGS, "Whether the client has taken its screenshot."},
    {"wait_for_loop_end", py_wait_for_loop_end, METH_VARARGS, "Wait until a loop is to end."},
    {"wake_loop_ender", py_wake_loop_ender, METH_NOARGS, "End the wait for the end of a loop."},
    {"strike", py_strike, METH_O, "Raise SIGINT in an execution, if it still runs."},
    {"trip", py_trip, METH_VARARGS, "Raise in every line of user code, until the execution ends."},
    {"untrip", py_untrip, METH_NOARGS, "No line raises any more."},
    {"executing", py_executing, METH_O, "Mark the execution that signals may interrupt."},
    {"interrupted", py_interrupted, METH_NOARGS, "Whether the execution was interrupted."},
    {"is_worker", py_is_worker, METH_NOARGS, "False in every forked child."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_vitrine", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace vitrine::zygote

PyMODINIT_FUNC PyInit__vitrine() { return PyModule_Create(&vitrine::zygote::definition); }
