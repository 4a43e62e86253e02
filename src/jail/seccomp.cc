// SPDX-License-Identifier: Apache-2.0
#include "jail/seccomp.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/fd.h"
#include "jail/seccomp_policy.h"

namespace vitrine::jail {

namespace {

struct Release {
  void operator()(void* context) const { seccomp_release(context); }
};
using Context = std::unique_ptr<void, Release>;  // scmp_filter_ctx is a void*

// Where a call that no rule names goes.
enum class Otherwise { refuse, allow };

std::uint32_t to_libseccomp(SyscallAction action) {
  if (action.kind == SyscallAction::Kind::allow) return SCMP_ACT_ALLOW;
  return SCMP_ACT_ERRNO(static_cast<std::uint16_t>(action.error));
}

std::uint32_t arch_of(Processor processor) {
  switch (processor) {
    case Processor::native: return seccomp_arch_native();
    case Processor::x86_64: return SCMP_ARCH_X86_64;
    case Processor::aarch64: return SCMP_ARCH_AARCH64;
  }
  return seccomp_arch_native();
}

Error failed(std::string_view doing, int negative_errno) {
  return Error::from_errno(doing, -negative_errno);
}

Result<Context> start_program(SyscallAction otherwise, std::uint32_t arch) {
  Context context(seccomp_init(to_libseccomp(otherwise)));
  if (!context) return Error{Code::internal, "starting a system call filter failed"};
  if (arch != seccomp_arch_native()) {
    if (int e = seccomp_arch_add(context.get(), arch); e != 0)
      return failed("choosing the processor of a filter", e);
    if (int e = seccomp_arch_remove(context.get(), seccomp_arch_native()); e != 0)
      return failed("choosing the processor of a filter", e);
  }
  constexpr std::uint32_t kBinaryTree = 2;
  if (int e = seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
      e != 0)
    return failed("forbidding foreign calling conventions", e);
  if (int e = seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree); e != 0)
    return failed("optimizing a filter", e);
  return context;
}

Status add_rule(scmp_filter_ctx context, const SyscallRule& rule, std::uint32_t arch) {
  const Error here{Code::invalid_argument,
                   "system call policy, line " + std::to_string(rule.line) + ": " + rule.syscall};
  const int there = seccomp_syscall_resolve_name_arch(arch, rule.syscall.c_str());
  if (there == __NR_SCMP_ERROR) {
    if (rule.spelling == Spelling::may_be_unknown) return ok();
    return Error{here.code, here.message + " is no system call"};
  }
  if (there < 0) return ok();  // a call of other processors only
  std::vector<scmp_arg_cmp> when;
  for (const ArgumentMatch& match : rule.when)
    when.push_back({match.argument, SCMP_CMP_MASKED_EQ, match.mask, match.value});
  const int e = seccomp_rule_add_array(context, to_libseccomp(rule.action),
                                       seccomp_syscall_resolve_name(rule.syscall.c_str()),
                                       static_cast<unsigned>(when.size()), when.data());
  if (e != 0) return failed(here.message, e);
  return ok();
}

Result<std::vector<sock_filter>> export_program(scmp_filter_ctx context) {
  Fd file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file) return Error::from_errno("making a memory file");
  if (int e = seccomp_export_bpf(context, file.get()); e != 0)
    return failed("exporting a system call filter", e);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return Error::from_errno("reading a system call filter");
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  if (::pread(file.get(), bytes.data(), bytes.size(), 0) != info.st_size)
    return Error{Code::internal, "reading a system call filter failed"};
  return filter_from_bytes(bytes);
}

Result<std::vector<sock_filter>> compile(const std::vector<SyscallRule>& rules, Otherwise otherwise,
                                         std::uint32_t arch) {
  const SyscallAction unmatched = otherwise == Otherwise::allow
                                      ? SyscallAction{SyscallAction::Kind::allow, 0}
                                      : unmatched_action();
  Result<Context> context = start_program(unmatched, arch);
  if (!context) return std::move(context.error());
  for (const SyscallRule& rule : rules) {
    if (rule.action == unmatched) continue;  // written down for the reader; libseccomp refuses it
    if (Status done = add_rule(context->get(), rule, arch); !done) return std::move(done.error());
  }
  return export_program(context->get());
}

}  // namespace

Result<Filters> compile_filters(Processor processor) {
  return compile_filters(seccomp_policy_text(), processor);
}

Result<Filters> compile_filters(std::string_view text, Processor processor) {
  Result<std::vector<SyscallRule>> policy = parse_seccomp_policy(text);
  if (!policy) return std::move(policy.error());
  const std::uint32_t arch = arch_of(processor);
  auto base = compile(rules_of(*policy, RuleScope::base), Otherwise::refuse, arch);
  if (!base) return std::move(base.error()).during("base filter");
  auto zygote = compile(rules_of(*policy, RuleScope::zygote), Otherwise::refuse, arch);
  if (!zygote) return std::move(zygote.error()).during("zygote filter");
  auto worker = compile(sealing_rules(*policy), Otherwise::allow, arch);
  if (!worker) return std::move(worker.error()).during("worker filter");
  auto floor = compile(floor_rules(*policy), Otherwise::allow, arch);
  if (!floor) return std::move(floor.error()).during("floor filter");
  return Filters{std::move(*base), std::move(*zygote), std::move(*worker), std::move(*floor)};
}

}  // namespace vitrine::jail
