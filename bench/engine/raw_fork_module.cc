// SPDX-License-Identifier: Apache-2.0
// The Python module `_raw_fork`: fork, run the code, exit, and nothing else.
//
// The physical limit that the engine is compared with: the zygote's own interpreter, warmed up by
// the same code, with no jail, no namespaces, no cgroups, no protocol around the cell.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "engine/raw_fork_wire.h"

namespace vitrine::zygote {

// Of the preloaded _vitrine: what the zygote does to its memory before it forks.
__attribute__((weak)) void settle_memory();

}  // namespace vitrine::zygote

namespace {

using vitrine::bench::RawReply;
using vitrine::bench::RawRequest;

int driver = -1;
std::array<pid_t, vitrine::bench::kMaxRawChildren> children{};

void tell(std::uint32_t id, RawReply::Kind kind, const char* text, std::size_t size) {
  RawReply reply{.id = id, .kind = kind, .size = 0, .text = {}};
  reply.size = static_cast<std::uint32_t>(size < sizeof reply.text ? size : sizeof reply.text);
  std::memcpy(reply.text, text, reply.size);
  (void)!::send(driver, &reply, sizeof reply, MSG_NOSIGNAL);
}

void reap() {
  for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;)
    for (std::uint32_t id = 0; id < children.size(); ++id)
      if (children[id] == pid) {
        children[id] = 0;
        tell(id, RawReply::Kind::reaped, "", 0);
      }
}

// serve(socket) -> (id, code), in each child
PyObject* serve(PyObject*, PyObject* args) {
  if (PyArg_ParseTuple(args, "i", &driver) == 0) return nullptr;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const int signals = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (vitrine::zygote::settle_memory != nullptr) vitrine::zygote::settle_memory();
  tell(0, RawReply::Kind::warm, "", 0);
  PyOS_BeforeFork();  // once: the locks it takes are released in each child
  for (;;) {
    pollfd polled[2] = {{driver, POLLIN, 0}, {signals, POLLIN, 0}};
    ::poll(polled, 2, -1);
    if (polled[1].revents != 0) {
      signalfd_siginfo info;
      while (::read(signals, &info, sizeof info) > 0) {
      }
      reap();
    }
    if (polled[0].revents == 0) continue;
    RawRequest request;
    if (::recv(driver, &request, sizeof request, 0) != sizeof request) ::_exit(0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      PyOS_AfterFork_Child();
      ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
      return Py_BuildValue("(Is)", request.id, request.code);
    }
    children[request.id] = pid;
  }
}

// done(id, text): the end of a child.
PyObject* done(PyObject*, PyObject* args) {
  unsigned id = 0;
  const char* text = nullptr;
  Py_ssize_t size = 0;
  if (PyArg_ParseTuple(args, "Is#", &id, &text, &size) == 0) return nullptr;
  tell(id, RawReply::Kind::result, text, static_cast<std::size_t>(size));
  ::_exit(0);
}

PyMethodDef methods[] = {
    {"serve", serve, METH_VARARGS, "Fork on request; returns in each child."},
    {"done", done, METH_VARARGS, "Send the result and exit."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_raw_fork", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__raw_fork() { return PyModule_Create(&definition); }
