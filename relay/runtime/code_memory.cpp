#include <relay/runtime/kernel.h>

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include <relay/support/error.h>

namespace relay {

namespace {

constexpr unsigned char kTrap = 0xcc;  // int3, between the pieces

[[noreturn]] void refuse(const char* what) {
  throw Error(std::string("cannot map machine code: ") + what + ": " + std::strerror(errno));
}

}  // namespace

std::shared_ptr<const CodeMemory> CodeMemory::map(std::span<const KernelBlob* const> blobs) {
  constexpr size_t kLimit = size_t{1} << 31;
  size_t size = 0;
  std::vector<size_t> offsets;
  offsets.reserve(blobs.size());
  for (const KernelBlob* blob : blobs) {
    if (blob->entry >= blob->bytes.size() || !std::has_single_bit(blob->alignment) ||
        blob->alignment > 4096) {
      throw Error("malformed machine code: entry or alignment out of range");
    }
    size = (size + blob->alignment - 1) & ~size_t{blob->alignment - 1};
    offsets.push_back(size);
    size += blob->bytes.size();
    if (size > kLimit) throw Error("machine code of more than 2 GiB");
  }
  std::shared_ptr<CodeMemory> memory(new CodeMemory);
  if (size == 0) return memory;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size = (size + page - 1) / page * page;
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) refuse("no memory");
  memory->memory_ = base;
  memory->size_ = size;
  auto* bytes = static_cast<std::byte*>(base);
  size_t end = 0;
  memory->kernels_.reserve(blobs.size());
  for (size_t i = 0; i < blobs.size(); ++i) {
    std::memset(bytes + end, kTrap, offsets[i] - end);
    std::memcpy(bytes + offsets[i], blobs[i]->bytes.data(), blobs[i]->bytes.size());
    end = offsets[i] + blobs[i]->bytes.size();
    memory->kernels_.push_back(reinterpret_cast<KernelFn>(bytes + offsets[i] + blobs[i]->entry));
  }
  std::memset(bytes + end, kTrap, size - end);
  // Only some processors, and no x86-64, fetch instructions past the caches that stores go to.
  __builtin___clear_cache(static_cast<char*>(base), static_cast<char*>(base) + size);
  if (mprotect(base, size, PROT_READ | PROT_EXEC) != 0) refuse("the system forbids execution");
  return memory;
}

CodeMemory::~CodeMemory() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

}  // namespace relay
