#include <llvm-c/Core.h>
#include <relay/codegen/release.h>
#include <relay/runtime/pool.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#if defined(__GLIBC__)
#include <link.h>
#include <malloc.h>
#endif

namespace relay::codegen {

#if defined(__GLIBC__)
namespace {

// Segments of the object that has the address `data` and that nobody writes to: their pages are
// those of the file.
int release_object(dl_phdr_info* info, size_t, void* data) {
  const uintptr_t wanted = reinterpret_cast<uintptr_t>(data);
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto each = [&](auto&& visit) {
    for (size_t i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD) visit(segment, begin, begin + segment.p_memsz);
    }
  };
  bool found = false;
  each([&](const auto&, uintptr_t begin, uintptr_t end) {
    found |= begin <= wanted && wanted < end;
  });
  if (!found) return 0;
  each([&](const auto& segment, uintptr_t begin, uintptr_t end) {
    if ((segment.p_flags & PF_W) != 0) return;
    begin = begin / page * page;
    end = (end + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  });
  return 1;
}

}  // namespace

void release_memory() {
  pool_trim();
  dl_iterate_phdr(release_object, reinterpret_cast<void*>(&LLVMContextCreate));
  malloc_trim(0);
}
#else
void release_memory() { pool_trim(); }
#endif

}  // namespace relay::codegen
