// SPDX-License-Identifier: Apache-2.0
#include "os/startup_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace holdfast::os {
namespace {

// A segment that is never writable has no relocations and no data, so its pages are the file's.
bool IsConstant(const ElfW(Phdr) & segment) {
  return segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0;
}

int Release(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (!IsConstant(segment)) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = begin + segment.p_filesz;
    const std::uintptr_t aligned = begin / page * page;
    ::madvise(reinterpret_cast<void*>(aligned), end - aligned, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void ReleaseStartupPages() { ::dl_iterate_phdr(&Release, nullptr); }

}  // namespace holdfast::os
