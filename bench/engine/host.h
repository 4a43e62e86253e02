// SPDX-License-Identifier: Apache-2.0
// What the kernel says of the machine and of processes: load, memory, leftovers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::bench {

struct CpuTime {  // seconds since the start of the machine, all cores
  double busy = 0;
  double stolen = 0;
};
CpuTime machine_cpu();
// Of this program and all it started that has been reaped.
double own_cpu();
int cores();

struct Memory {  // KiB
  double available = 0;
  double slab = 0;
  double page_tables = 0;
  double kernel_stacks = 0;
};
Memory machine_memory();

struct ProcessMemory {  // KiB, of one process or added up
  double rss = 0;
  double pss = 0;
  double private_dirty = 0;
  double huge = 0;
};
ProcessMemory memory_of(int pid);

std::vector<int> children_of(int pid);
std::vector<int> descendants_of(int pid);
// CPU seconds of a process and all below it, dead ones that were reaped included.
double cpu_of_tree(int pid);

// What a keeper holds; compared before and after a test for leaks.
struct Holdings {
  long processes = 0;
  long descriptors = 0;
  long mounts = 0;
  long cgroups = 0;
  long namespaces = 0;
  long files = 0;
};
long cgroups_named(const std::string& name);
Holdings holdings_of(int keeper, const std::string& name, const std::string& directory);

}  // namespace vitrine::bench
