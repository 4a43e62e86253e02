// SPDX-License-Identifier: Apache-2.0
#include "zygote/fork_loop.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/packet.h"
#include "jail/floor.h"
#include "jail/seccomp.h"
#include "jail/worker.h"
#include "wire/fork.h"
#include "wire/frame.h"
#include "zygote/arena.h"

namespace vitrine::zygote {

namespace {

struct Received {
  wire::ForkRequest request;
  std::array<int, wire::kMaxForkDescriptors> fds;
  int count = 0;
};

// No allocation here: see wire/fork.h.
bool receive(int control, Received& in) {
  iovec part{&in.request, sizeof in.request};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * wire::kMaxForkDescriptors)> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  ssize_t got = 0;
  do got = ::recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  in.count = 0;
  if (got != sizeof in.request) return false;
  if (cmsghdr* header = CMSG_FIRSTHDR(&message);
      header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    in.count = static_cast<int>((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(in.fds.data(), CMSG_DATA(header), sizeof(int) * static_cast<std::size_t>(in.count));
  }
  const wire::ForkRequest& request = in.request;
  return in.count >= wire::kForkDescriptors + request.has_ruleset + request.has_cgroup;
}

// The worker becomes a child of the keeper: it outlives the zygote, and the keeper gets its status.
// CLONE_CHILD_SETTID overwrites the thread id that glibc caches.
// In a recycled shell the worker gets the pid of its predecessor.
pid_t fork_sibling(int* thread_id, int cgroup, bool recycled) {
  const pid_t first = jail::kWorkerPid;
  clone_args args{};
  if (recycled) {
    args.set_tid = reinterpret_cast<std::uintptr_t>(&first);
    args.set_tid_size = 1;
  }
  args.flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  args.child_tid = reinterpret_cast<std::uintptr_t>(thread_id);
  if (cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

// The same without namespaces and cgroups, for hosts that block clone3.
pid_t fork_plainly(int* thread_id) {
  constexpr unsigned long kFlags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
#if defined(__x86_64__)
  return static_cast<pid_t>(::syscall(SYS_clone, kFlags, 0UL, 0UL, thread_id, 0UL));
#else
  return static_cast<pid_t>(::syscall(SYS_clone, kFlags, 0UL, 0UL, 0UL, thread_id));
#endif
}

// Passes `pid` so that the kernel translates it into the keeper's pid namespace.
bool answer(int control, const wire::ForkReply& reply, pid_t pid) {
  iovec part{const_cast<wire::ForkReply*>(&reply), sizeof reply};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof(ucred));
  const ucred named{.pid = pid, .uid = ::geteuid(), .gid = ::getegid()};
  std::memcpy(CMSG_DATA(header), &named, sizeof named);
  return ::sendmsg(control, &message, MSG_NOSIGNAL) >= 0;
}

[[noreturn]] void refuse(const Error& error, int socket) {
  const std::string why = error.pack();
  (void)send_packet(socket, wire::encode_frame({.type = wire::Type::start_failed, .payload = why}),
                    {}, Wait::dont);
  ::_exit(125);
}

void become_worker(const Received& in, std::span<const sock_filter> filter, jail::Sys sys) {
  use_small_arenas();
  const wire::ForkRequest& request = in.request;
  const jail::WorkerPlan plan{
      .scratch = request.recycled != 0 ? jail::Scratch::fresh : jail::Scratch::kept,
      .disk_bytes = request.disk_bytes,
      .inodes = request.inodes,
      .processes = request.processes,
      .data_bytes = request.data_bytes,
      .uses = request.uses,
      .ruleset_scratch = request.scratch,
      .user = request.user,
      .fail_at = request.fail_at};
  jail::WorkerEntry entry{.plan = plan,
                          .sys = sys,
                          .shell = Fd(in.fds[0]),
                          .ruleset = Fd(request.has_ruleset != 0 ? in.fds[4] : -1),
                          .socket = Fd(in.fds[1]),
                          .out = Fd(in.fds[2]),
                          .err = Fd(in.fds[3]),
                          .cgroups = {},
                          .filter = filter};
  const int first = wire::kForkDescriptors + request.has_ruleset + request.has_cgroup;
  for (int i = first; i < in.count; ++i)
    entry.cgroups[static_cast<std::size_t>(i - first)] = Fd(in.fds[static_cast<std::size_t>(i)]);
  Status entered = request.user != 0 ? jail::enter_floor(entry) : jail::enter(entry);
  if (!entered) refuse(entered.error(), entry.socket ? entry.socket.get() : jail::kSessionSocket);
}

}  // namespace

Result<Forked> serve_forks(int control, std::span<const sock_filter> zygote_filter,
                           std::span<const sock_filter> worker_filter) {
  int* thread_id = nullptr;
  if (::prctl(PR_GET_TID_ADDRESS, &thread_id, 0UL, 0UL, 0UL) != 0 || thread_id == nullptr)
    return Error::from_errno("asking for the thread id's address")
        .with_remedy("use a kernel with CONFIG_CHECKPOINT_RESTORE");
  const int self = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  if (self < 0) return Error::from_errno("opening the zygote's own pidfd");
  if (Status s = jail::install_filter(zygote_filter); !s) return std::move(s.error());

  const pid_t own = ::getpid();
  settle_memory();
  wire::ForkReply reply{};
  if (!answer(control, reply, own)) return Error::from_errno("saying that the zygote is warm");
  Received in;
  while (receive(control, in)) {
    reply = {.request = in.request.request, .error = EIO, .pid = 0};
    pid_t pid = -1;
    jail::Sys sys(in.request.fail_at);
    if (in.request.user != 0) {
      pid = sys(fork_plainly, thread_id);
      if (pid == 0) {
        become_worker(in, worker_filter, sys);
        return Forked{.rehearse = in.request.rehearse != 0};
      }
      reply.error = pid < 0 ? errno : 0;
      reply.pid = pid;
      pid = own;
    } else if (sys(::setns, in.fds[0], CLONE_NEWPID) != 0) {
      reply.error = errno;
    } else {
      const int cgroup = in.request.has_cgroup != 0
                             ? in.fds[static_cast<std::size_t>(4 + in.request.has_ruleset)]
                             : -1;
      pid = sys(fork_sibling, thread_id, cgroup, in.request.recycled != 0);
      if (pid == 0) {
        sys.skip(1);  // the zygote's return
        become_worker(in, worker_filter, sys);
        return Forked{.rehearse = in.request.rehearse != 0};
      }
      reply.error = pid < 0 ? errno : 0;
      if (sys(::setns, self, CLONE_NEWPID) != 0)
        return Error::from_errno("returning to the own pid namespace");
    }
    for (int i = 0; i < in.count; ++i) ::close(in.fds[static_cast<std::size_t>(i)]);
    if (reply.error == 0 && answer(control, reply, pid)) continue;
    // The fork failed, or the child is dead and reaped already.
    if (reply.error == 0) reply.error = ESRCH;
    if (!answer(control, reply, own)) break;
  }
  ::_exit(0);  // the keeper is gone, or has closed the socket to end this zygote
}

}  // namespace vitrine::zygote
