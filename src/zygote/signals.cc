// SPDX-License-Identifier: Apache-2.0
#include "zygote/signals.h"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "wire/frame.h"
#include "wire/signals.h"

namespace vitrine::zygote {

namespace {

std::atomic<std::uint64_t> running{0};
std::atomic<std::uint64_t> last_begun{0};
std::atomic<std::uint32_t> stop_early{
    0};  // the next execution, if it was interrupted before it started
std::atomic<bool> interrupted{false};
std::atomic<std::uint32_t> loop_end{0};  // the keeper's request for the running execution; 0 = none
std::atomic<std::uint32_t> end_early{0};  // the same for the next execution, before it started
std::atomic<bool> struck{false};
sem_t loop_ender;
timer_t kicker{};
bool has_kicker = false;
int session_socket = -1;
pid_t worker_pid = -1;
void (*dump_threads)(int) = nullptr;  // Python's fault handler, as registered for the stack signal
int dump_file = -1;                   // the descriptor that it writes to; not open otherwise

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

bool is_from_keeper(const siginfo_t* info) {
  return info->si_code == SI_QUEUE && ::getpid() == worker_pid;
}

bool names(const siginfo_t* info, std::uint64_t execution) {
  return execution != 0 && static_cast<std::uint32_t>(info->si_value.sival_int) ==
                               static_cast<std::uint32_t>(execution);
}

// The part of the dump about user code: lines with the runtime's own files are left out.
std::size_t keep_user_lines(char* text, std::size_t size) {
  constexpr std::string_view kOurs = "/usr/lib/vitrine/";
  constexpr std::string_view kBoot = "File \"<string>\", line 1 in <module>";  // below our frames
  bool ours = false;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < size;) {
    const void* found = std::memchr(text + at, '\n', size - at);
    const std::size_t end =
        found == nullptr ? size
                         : static_cast<std::size_t>(static_cast<const char*>(found) - text) + 1;
    const std::string_view line(text + at, end - at);
    ours = line.find(kOurs) != std::string_view::npos ||
           (ours && line.find(kBoot) != std::string_view::npos);
    if (!ours) {
      std::memmove(text + kept, text + at, end - at);
      kept += end - at;
    }
    at = end;
  }
  return kept;
}

void send_stack() {
  if (dump_threads == nullptr || ::fcntl(dump_file, F_GETFD) >= 0) return;
  const int file = static_cast<int>(::syscall(SYS_memfd_create, "stack", MFD_CLOEXEC));
  if (file < 0) return;
  static char text[32 * 1024];
  ssize_t got = 0;
  if (::dup3(file, dump_file, O_CLOEXEC) >= 0) {
    dump_threads(wire::stack_signal());
    ::close(dump_file);
    got = ::pread(file, text, sizeof text, 0);
  }
  ::close(file);
  if (got <= 0) return;
  const std::size_t size = keep_user_lines(text, static_cast<std::size_t>(got));
  const wire::Frame frame{
      .type = wire::Type::stack, .execution = running.load(), .payload = {text, size}};
  auto header = wire::encode_header(frame);
  iovec parts[2] = {{header.data(), header.size()}, {text, size}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  ::sendmsg(session_socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// An interrupt that comes just before a blocking call is noted by Python, but the call still blocks.
// So the signal comes again, saying nothing new (SI_TIMER), only breaking calls off, until the
// execution is over.
void kick_again(bool on) {
  if (!has_kicker) return;
  constexpr long kMillisecond = 1'000'000;
  itimerspec often{};
  if (on) often = {.it_interval = {0, 100 * kMillisecond}, .it_value = {0, 10 * kMillisecond}};
  ::timer_settime(kicker, 0, &often, nullptr);
}

void stop() {
  interrupted.store(true);
  PyErr_SetInterruptEx(SIGINT);
  kick_again(true);
}

void on_stack(int, siginfo_t* info, void*) {
  const int before = errno;
  if (is_from_keeper(info) && names(info, running.load())) send_stack();
  errno = before;
}

void on_interrupt(int signal, siginfo_t* info, void*) {
  const int before = errno;
  if (is_from_keeper(info)) {
    // Only the main thread runs Python's handlers, and only its system calls should break off.
    if (static_cast<pid_t>(::syscall(SYS_gettid)) != worker_pid)
      ::syscall(SYS_rt_tgsigqueueinfo, worker_pid, worker_pid, signal, info);
    else if (names(info, running.load())) stop();
    else if (names(info, last_begun.load() + 1))
      stop_early.store(static_cast<std::uint32_t>(info->si_value.sival_int));
  }
  errno = before;
}

// Whether the value of an end_loop signal is meant for this execution.
bool ends(std::uint32_t value, std::uint64_t execution) {
  return execution != 0 &&
         (value | wire::kPaintingBit) == wire::end_loop_value(execution, wire::Screen::painting);
}

// Only wakes the thread that knows what to do: here, nothing of the interpreter may be touched.
void on_end_loop(int, siginfo_t* info, void*) {
  const int before = errno;
  const auto value = static_cast<std::uint32_t>(info->si_value.sival_int);
  if (is_from_keeper(info)) {
    if (ends(value, running.load())) {
      loop_end.store(value);
      ::sem_post(&loop_ender);
    } else if (ends(value, last_begun.load() + 1)) {
      end_early.store(value);
    }
  }
  errno = before;
}

// Stack and interrupt do not restart a system call: when both are pending, the first one decides
// whether a call goes on, and the interrupt would come too late to break it off. Python repeats what a
// signal broke off.
void install(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  sigfillset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

// CPython exports no function that writes the stacks of all threads in a signal handler. Its module
// faulthandler has one: registered for our signal, it can be called, whatever handler we install afterwards.
// It writes to a descriptor whose number is fixed here: just below our own ones at the top,
// where nobody gets one by chance.
void find_dump() {
  constexpr int kOurDescriptors = 16;  // at the top: the socket, the streams' own duplicates
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 4 * kOurDescriptors) return;
  const auto file = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20)) - kOurDescriptors;
  PyObject* module = PyImport_ImportModule("faulthandler");
  PyObject* done = module == nullptr ? nullptr
                                     : PyObject_CallMethod(module, "register", "iii",
                                                           wire::stack_signal(), file, 1);
  struct sigaction registered {};
  if (done != nullptr && ::sigaction(wire::stack_signal(), nullptr, &registered) == 0 &&
      (registered.sa_flags & SA_SIGINFO) == 0) {
    dump_threads = registered.sa_handler;
    dump_file = file;
  }
  Py_XDECREF(done);
  Py_XDECREF(module);
  PyErr_Clear();
}

}  // namespace

void install_signals(int socket) {
  session_socket = socket;
  worker_pid = ::getpid();
  find_dump();
  install(wire::stack_signal(), on_stack);
  install(wire::interrupt_signal(), on_interrupt);
  ::sem_init(&loop_ender, 0, 0);
  install(wire::end_loop_signal(), on_end_loop, SA_RESTART);  // it concerns another thread
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = wire::interrupt_signal();
  event._sigev_un._tid = worker_pid;
  has_kicker = ::timer_create(CLOCK_MONOTONIC, &event, &kicker) == 0;
}

void set_executing(std::uint64_t execution) {
  if (execution == 0) {
    if (interrupted.load() || struck.load()) kick_again(false);
    running.store(0);
    loop_end.store(0);
    wake_loop_ender();
    return;
  }
  interrupted.store(false);
  struck.store(false);
  loop_end.store(0);
  while (::sem_trywait(&loop_ender) == 0) {
  }
  last_begun.store(execution);
  running.store(execution);  // from here on a signal stops it
  if (const std::uint32_t value = end_early.exchange(0); ends(value, execution)) {
    loop_end.store(value);
    wake_loop_ender();
  }
  if (stop_early.exchange(0) == static_cast<std::uint32_t>(execution)) stop();
}

std::uint64_t executing() { return running.load(); }

bool was_interrupted() { return interrupted.load(); }

LoopEnd wait_for_loop_end(std::uint64_t execution, std::chrono::milliseconds most) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const long long ns = until.tv_nsec + most.count() % 1000 * 1'000'000;
  until.tv_sec += most.count() / 1000 + ns / 1'000'000'000;
  until.tv_nsec = ns % 1'000'000'000;
  while (::sem_clockwait(&loop_ender, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
  }
  if (running.load() != execution) return LoopEnd::over;
  const std::uint32_t value = loop_end.exchange(0);
  if (value == 0) return LoopEnd::unasked;
  return (value & wire::kPaintingBit) != 0 ? LoopEnd::painting : LoopEnd::still;
}

void wake_loop_ender() { ::sem_post(&loop_ender); }

bool strike(std::uint64_t execution) {
  if (execution == 0 || running.load() != execution) return false;
  struck.store(true);
  PyErr_SetInterruptEx(SIGINT);
  kick_again(true);
  return true;
}

}  // namespace vitrine::zygote
