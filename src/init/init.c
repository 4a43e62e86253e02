// SPDX-License-Identifier: Apache-2.0
// vitrine-init: pid 1 of every session. It holds the session's namespaces together and dies with
// the keeper, which takes everything inside with it. No libc, no descriptors, no environment.
//
// Orphans need no reaping loop: with SIGCHLD ignored the kernel reaps them.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define SIGKILL 9
#define SIGCHLD 17

#if defined(__x86_64__)
#define NR_RT_SIGACTION 13
#define NR_PPOLL 271
#define NR_EXIT_GROUP 231
#define NR_PRCTL 157
#define NR_CLOSE_RANGE 436
#define THIS_ARCH AUDIT_ARCH_X86_64
static long call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
#define NR_RT_SIGACTION 134
#define NR_PPOLL 73
#define NR_EXIT_GROUP 94
#define NR_PRCTL 167
#define NR_CLOSE_RANGE 436
#define THIS_ARCH AUDIT_ARCH_AARCH64
static long call(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
                   : "memory");
  return x0;
}
#else
#error "vitrine-init knows x86-64 and arm64"
#endif

struct kernel_sigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

static void require(long result) {
  if (result < 0) {
    call(NR_EXIT_GROUP, 125, 0, 0, 0, 0);
    __builtin_trap();
  }
}

static void seal(void) {
  static const struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NR_PPOLL, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NR_EXIT_GROUP, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof program / sizeof program[0],
                                    (struct sock_filter*)program};
  require(call(NR_PRCTL, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter, 0, 0));
}

__attribute__((noreturn, used)) void _start(void) {
  require(call(NR_PRCTL, PR_SET_DUMPABLE, 0, 0, 0, 0));
  require(call(NR_PRCTL, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
  require(call(NR_PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  const struct kernel_sigaction ignore = {(void (*)(int))1, 0, 0, 0};
  require(call(NR_RT_SIGACTION, SIGCHLD, (long)&ignore, 0, 8, 0));
  require(call(NR_CLOSE_RANGE, 0, ~0U, 0, 0, 0));
  seal();
  for (;;) call(NR_PPOLL, 0, 0, 0, 0, 0);
}
