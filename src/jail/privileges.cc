// SPDX-License-Identifier: Apache-2.0
#include "jail/privileges.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vitrine::jail {

namespace {

int control(int option, unsigned long a, unsigned long b = 0) {
  return ::prctl(option, a, b, 0UL, 0UL);
}

int set_capabilities(__user_cap_header_struct* header, __user_cap_data_struct* data) {
  return static_cast<int>(::syscall(SYS_capset, header, data));
}

}  // namespace

Status drop_all_privileges(Sys& sys) {
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (sys(control, PR_CAPBSET_DROP, capability, 0UL) == 0) continue;
    if (errno == EINVAL && capability > CAP_WAKE_ALARM) break;  // beyond the kernel's last one
    return Error::from_errno("dropping a capability from the bounding set");
  }
  if (sys(control, PR_CAP_AMBIENT, static_cast<unsigned long>(PR_CAP_AMBIENT_CLEAR_ALL), 0UL) != 0)
    return Error::from_errno("clearing the ambient capabilities");
  constexpr unsigned long kLocked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                    SECBIT_NO_CAP_AMBIENT_RAISE |
                                    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  static_assert(kLocked == 0xef);
  if (sys(control, PR_SET_SECUREBITS, kLocked, 0UL) != 0)
    return Error::from_errno("locking the securebits");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (sys(set_capabilities, &header, none) != 0)
    return Error::from_errno("dropping the capabilities");
  if (sys(control, PR_SET_NO_NEW_PRIVS, 1UL, 0UL) != 0)
    return Error::from_errno("setting no_new_privs");
  return ok();
}

}  // namespace vitrine::jail
