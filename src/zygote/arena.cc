// SPDX-License-Identifier: Apache-2.0
#include "zygote/arena.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

// Only the zygote's interpreter has these; a program preloaded by accident does not.
extern "C" __attribute__((weak)) void PyObject_SetArenaAllocator(PyObjectArenaAllocator*);

namespace vitrine::zygote {

namespace {

constexpr std::size_t kHuge = 2 << 20;
constexpr std::size_t kRegion = 128 << 20;  // address space, not memory

struct Region {
  char* begin = nullptr;
  char* next = nullptr;
  char* end = nullptr;
};

Region region;
bool small_arenas = false;
char* heap = nullptr;  // its first byte

#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25;  // Linux 6.1
#endif

void* map_pages(std::size_t size) {
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

bool open_region() {
  auto* pages = static_cast<char*>(map_pages(kRegion + kHuge));
  if (pages == nullptr) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(pages);
  char* begin = pages + (kHuge - address % kHuge) % kHuge;
  if (begin > pages) ::munmap(pages, static_cast<std::size_t>(begin - pages));
  ::munmap(begin + kRegion, static_cast<std::size_t>(pages + kHuge - begin));
  ::madvise(begin, kRegion, MADV_HUGEPAGE);
  region = {begin, begin, begin + kRegion};
  return true;
}

void* allocate(void*, std::size_t size) {
  if (small_arenas || size > kHuge) return map_pages(size);
  if (region.begin == nullptr && !open_region()) return map_pages(size);
  if (region.next + size > region.end) return map_pages(size);
  char* arena = region.next;
  region.next += size;
  return arena;
}

void release(void*, void* arena, std::size_t size) {
  auto* begin = static_cast<char*>(arena);
  const bool huge = region.begin != nullptr && begin >= region.begin && begin < region.end;
  if (!huge) ::munmap(arena, size);
  else if (begin + size == region.next) region.next = begin;
  else if (small_arenas) ::madvise(arena, size, MADV_DONTNEED);
}

// Fills the holes that the imports left in the heap, for good, so that the allocations of a worker lie
// together at its end. A worker would otherwise copy one page for each hole that it uses.
void fill_holes() {
  constexpr std::size_t kLargest = 64 << 10, kStep = 16;
  const char* const fresh = static_cast<char*>(::sbrk(0)) - ::mallinfo2().keepcost;
  for (std::size_t size = kLargest; size >= kStep; size -= kStep) {
    for (;;) {
      auto* taken = static_cast<char*>(std::malloc(size));
      if (taken == nullptr || taken < heap || taken >= fresh) {
        std::free(taken);
        break;
      }
    }
  }
}

void collapse_heap() {
  const auto begin = reinterpret_cast<std::uintptr_t>(heap);
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  for (auto at = (begin + kHuge - 1) / kHuge * kHuge; at + kHuge <= end; at += kHuge)
    ::madvise(reinterpret_cast<void*>(at), kHuge, MADV_COLLAPSE);
}

// The kernel merges adjacent mappings with equal attributes, and each mapping costs time in every fork
// and exit. RELRO protects pointers from being overwritten; user code in this process can run any code
// anyway.
int open_relro(dl_phdr_info* library, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::getpagesize());
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library->dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    const std::uintptr_t begin = (library->dlpi_addr + header.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = (library->dlpi_addr + header.p_vaddr + header.p_memsz) & ~(page - 1);
    if (end > begin)
      ::mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE);
  }
  return 0;
}

__attribute__((constructor)) void prepare() {
  const char* preload = ::getenv("LD_PRELOAD");
  if (preload == nullptr || std::strstr(preload, "_vitrine") == nullptr) return;
  heap = static_cast<char*>(::sbrk(0));
  // A session's own programs should inherit neither.
  ::unsetenv("LD_PRELOAD");
  ::unsetenv("GLIBC_TUNABLES");
  ::unsetenv("LD_BIND_NOW");
  if (PyObject_SetArenaAllocator == nullptr) return;
  PyObjectArenaAllocator allocator{nullptr, allocate, release};
  PyObject_SetArenaAllocator(&allocator);
}

}  // namespace

void settle_memory() {
  if (heap != nullptr) {
    fill_holes();
    collapse_heap();
  }
  ::dl_iterate_phdr(open_relro, nullptr);
}

void use_small_arenas() { small_arenas = true; }

}  // namespace vitrine::zygote
