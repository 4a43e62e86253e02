# SPDX-License-Identifier: Apache-2.0
# F31: writes kernel settings through /proc
# wrote: EROFS|EACCES|ENOENT|EPERM
from tools import tell, wrote

NAMES = """sys/kernel/core_pattern sys/kernel/hostname sys/vm/drop_caches sys/kernel/ns_last_pid
sys/user/max_user_namespaces sys/net/ipv4/ip_forward sys/net/ipv4/ping_group_range sysrq-trigger
sys/fs/binfmt_misc/register sys/kernel/modprobe self/uid_map self/gid_map self/setgroups
self/oom_score_adj self/timens_offsets self/clear_refs self/coredump_filter self/comm
self/attr/current irq/0/smp_affinity mtrr scsi/scsi acpi/wakeup self/loginuid self/sched"""
tell(wrote=[wrote(f"/proc/{name}") for name in NAMES.split()])
