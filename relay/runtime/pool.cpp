// Blocks come from malloc, large ones aligned to large pages, and carry their size there. Small
// ones wait in lists of the thread that freed them, by exact size; large ones in one table for all
// threads, where a request takes the best fit that wastes little.
#include <malloc.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/pool.h>
#include <relay/support/fork_mutex.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>

#if defined(__SANITIZE_ADDRESS__)
#define RELAY_NO_POOL 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RELAY_NO_POOL 1
#endif
#endif

namespace relay {

#ifdef RELAY_NO_POOL

// Gives blocks back at once, so that the sanitizer sees late uses.
void* pool_allocate(size_t size) noexcept { return std::malloc(size); }
void* pool_allocate_zeros(size_t size) noexcept { return std::calloc(1, size); }
void pool_free(void* block) noexcept { std::free(block); }
void pool_free_usable(void* block, size_t) noexcept { std::free(block); }
void pool_free_request(void* block, size_t) noexcept { std::free(block); }
PoolTakesLarger::PoolTakesLarger() noexcept = default;
PoolTakesLarger::~PoolTakesLarger() = default;
void pool_keep_less() noexcept {}
size_t pool_kept_bytes() noexcept { return 0; }
void pool_trim() noexcept {}

#else

namespace {

constexpr size_t kStep = 16;
constexpr size_t kLargestSmall = 16392;  // a size that malloc gives exactly
constexpr size_t kNumLists = kLargestSmall / kStep + 1;
constexpr size_t kMostSmallBytes = size_t{8} << 20;  // in each thread
constexpr size_t kNumLarge = 512;
constexpr size_t kMostLargeBytes = size_t{256} << 20;  // more: `most_large_bytes`
constexpr size_t kPage = size_t{2} << 20;              // a large one

// Small blocks have 16 k + 8 bytes, which malloc of this system gives anyway; others may give what
// they are asked for, so that much is asked. Lists count their blocks as 16 k bytes, so that taking
// one does not ask malloc.
size_t list_for_request(size_t size) { return size <= 24 ? 1 : (size - 8 + kStep - 1) / kStep; }
size_t whole_block(size_t size) {
  return size <= kLargestSmall ? kStep * list_for_request(size) + 8 : size;
}
size_t list_of_block(size_t usable) { return (usable - 8) / kStep; }

struct Node {
  Node* next;
};

struct SmallBlocks {
  Node* lists[kNumLists] = {};
  size_t bytes = 0;

  ~SmallBlocks();
  void trim() {
    for (Node*& list : lists) {
      while (list != nullptr) {
        Node* block = list;
        list = block->next;
        std::free(block);
      }
    }
    bytes = 0;
  }
};

// After a thread's lists are gone (objects may die later still), blocks are freed at once.
thread_local bool gone = false;
thread_local SmallBlocks small;
SmallBlocks::~SmallBlocks() {
  trim();
  gone = true;
}

struct LargeBlocks {
  ForkMutex mutex;
  struct Entry {
    void* block;
    size_t usable;   // bytes that serve a request
    size_t touched;  // those in memory at most: as many as were asked for, where that is known
  };
  Entry entries[kNumLarge];
  size_t count = 0;
  std::atomic<size_t> bytes{0};  // touched; read without the mutex, too
};
LargeBlocks& large() {
  static auto& blocks = *new LargeBlocks;  // outlives all values
  return blocks;
}
// As the library is loaded: a child must not wait for a thread that was making it.
[[maybe_unused]] LargeBlocks& pool_made_early = large();

std::atomic<int> takes_larger{0};  // PoolTakesLarger that live

void* take_large(size_t size) {
  LargeBlocks& all = large();
  std::lock_guard lock(all.mutex);
  // An aligned block may have most of a page that it never touches.
  size_t most = size + size / 4 + 4096 + (size >= kPage ? kPage : 0);
  if (size >= kPage / 2 && takes_larger > 0) most = SIZE_MAX;
  size_t best = all.count;
  // The last ones were in use most recently.
  for (size_t i = all.count; i-- > 0;) {
    size_t usable = all.entries[i].usable;
    if (usable < size || usable > most) continue;
    if (best == all.count || usable < all.entries[best].usable) best = i;
  }
  if (best == all.count) return nullptr;
  void* block = all.entries[best].block;
  all.bytes -= all.entries[best].touched;
  --all.count;
  for (size_t i = best; i < all.count; ++i) all.entries[i] = all.entries[i + 1];
  return block;
}

void* take_small(size_t size) {
  if (gone) return nullptr;
  SmallBlocks& own = small;
  const size_t number = list_for_request(size);
  Node* block = own.lists[number];
  if (block == nullptr) return nullptr;
  own.lists[number] = block->next;
  // Blocks were given back long ago, if there are many: the next one is fetched in the meantime.
  __builtin_prefetch(block->next, 1);
  own.bytes -= number * kStep;
  return block;
}

// A block that was given back, or null.
void* take(size_t size) { return size <= kLargestSmall ? take_small(size) : take_large(size); }

bool keep_small(void* block, size_t list) {
  if (gone) return false;
  SmallBlocks& own = small;
  if (own.bytes + list * kStep > kMostSmallBytes) return false;
  auto* node = static_cast<Node*>(block);
  node->next = own.lists[list];
  own.lists[list] = node;
  own.bytes += list * kStep;
  return true;
}

// Bytes of blocks that may be kept. Values that were there at once before, such as the gradients of
// a step, will be asked for again, and in the place of those of then they take no more memory than
// the process has had.
size_t most_large_bytes() {
  const size_t before = peak_memory(), now = memory_in_use();
  return std::min(std::max(kMostLargeBytes, before - std::min(before, now)), memory_limit() / 4);
}

// Takes out the oldest blocks until `room` more bytes, and a block more if that is not 0, may be
// kept, and frees them.
void make_room(size_t room, size_t most, LargeBlocks& all, std::unique_lock<ForkMutex>& lock) {
  LargeBlocks::Entry dropped[kNumLarge];
  size_t count = 0;
  while (count < all.count &&
         (all.bytes + room > most || (room != 0 && all.count - count == kNumLarge))) {
    dropped[count] = all.entries[count];
    all.bytes -= dropped[count++].touched;
  }
  if (count == 0) return;
  all.count -= count;
  for (size_t i = 0; i < all.count; ++i) all.entries[i] = all.entries[i + count];
  lock.unlock();
  for (size_t i = 0; i < count; ++i) std::free(dropped[i].block);
  lock.lock();
}

bool keep_large(void* block, size_t usable, size_t touched) {
  constexpr size_t kWorthAsking = size_t{1} << 20;  // for the limits
  LargeBlocks& all = large();
  const bool ask = touched >= kWorthAsking || all.bytes + touched > kMostLargeBytes;
  const size_t most = ask ? most_large_bytes() : kMostLargeBytes;
  if (touched > most) return false;
  std::unique_lock lock(all.mutex);
  make_room(touched, most, all, lock);
  if (all.count == kNumLarge) return false;  // others have kept some meanwhile
  all.entries[all.count++] = {block, usable, touched};
  all.bytes += touched;
  return true;
}

// Large blocks lie in large pages where the system has some: kernels stride through them, and each
// page costs when it is first touched.
void* in_large_pages(void* block, size_t size) noexcept {
  if (block == nullptr || size < kPage) return block;
  auto begin = (reinterpret_cast<uintptr_t>(block) + kPage - 1) / kPage * kPage;
  auto end = (reinterpret_cast<uintptr_t>(block) + size) / kPage * kPage;
  if (begin >= end) return block;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // or not: it is advice
  return block;
}

void* allocate(size_t size) noexcept {
  if (size < kPage) return std::malloc(whole_block(size));
  // Begins at a page: a block of two or three megabytes would otherwise contain no whole large
  // page.
  void* block = nullptr;
  if (posix_memalign(&block, kPage, size) != 0) return nullptr;
  return in_large_pages(block, size);
}

}  // namespace

void* pool_allocate_zeros(size_t size) noexcept {
  // Fresh pages cost more than clearing this block.
  if (void* block = take(size)) return std::memset(block, 0, size);
  pool_keep_less();
  return in_large_pages(std::calloc(1, whole_block(size)), size);
}

void* pool_allocate(size_t size) noexcept {
  if (void* block = take(size)) return block;
  pool_keep_less();
  if (void* block = allocate(size)) return block;
  pool_trim();
  return allocate(size);
}

void pool_free(void* block) noexcept {
  if (block != nullptr) pool_free_usable(block, malloc_usable_size(block));
}

void pool_free_usable(void* block, size_t usable) noexcept {
  const size_t list = list_of_block(usable);
  const bool kept = list < kNumLists ? keep_small(block, list) : keep_large(block, usable, usable);
  if (!kept) std::free(block);
}

void pool_free_request(void* block, size_t size) noexcept {
  // A block of malloc may be a step larger than the list says.
  const bool kept = size <= kLargestSmall ? keep_small(block, list_for_request(size))
                                          : keep_large(block, malloc_usable_size(block), size);
  if (!kept) std::free(block);
}

PoolTakesLarger::PoolTakesLarger() noexcept { ++takes_larger; }
PoolTakesLarger::~PoolTakesLarger() { --takes_larger; }

void pool_keep_less() noexcept {
  LargeBlocks& all = large();
  if (all.bytes.load(std::memory_order_relaxed) <= kMostLargeBytes) return;
  const size_t most = most_large_bytes();
  std::unique_lock lock(all.mutex);
  make_room(0, most, all, lock);
}

size_t pool_kept_bytes() noexcept { return large().bytes.load(std::memory_order_relaxed); }

void pool_trim() noexcept {
  if (!gone) small.trim();
  LargeBlocks& all = large();
  std::lock_guard lock(all.mutex);
  for (size_t i = 0; i < all.count; ++i) std::free(all.entries[i].block);
  all.count = 0;
  all.bytes = 0;
}

#endif

}  // namespace relay
