#include <relay/runtime/hand_over.h>

#include <mutex>
#include <unordered_map>

#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

namespace relay {
namespace {

// Memory that was handed over, by its address. It may be handed over again and again, by each
// holder to the next: all of them hold the tensor that owns it, and not one another in a chain.
struct Owner {
  NDArray array;
  size_t holders = 0;
};
struct Owners {
  ForkMutex mutex;
  std::unordered_map<void*, Owner> by_address;
};
Owners& owners() {
  static auto* all = new Owners;
  return *all;
}

void release(void* address) {
  NDArray last;  // freed without the lock
  Owners& all = owners();
  std::lock_guard lock(all.mutex);
  auto found = all.by_address.find(address);
  if (--found->second.holders > 0) return;
  last = std::move(found->second.array);
  all.by_address.erase(found);
}

}  // namespace

NDArray hand_over(const NDArray& array) {
  RELAY_CHECK(array.is_contiguous() && array.size() > 0 &&
                  array.memory_bytes() == array.byte_size(),
              "a part of memory is handed over");
  void* address = const_cast<std::byte*>(static_cast<const std::byte*>(array.raw()));
  {
    Owners& all = owners();
    std::lock_guard lock(all.mutex);
    Owner& owner = all.by_address[address];
    if (owner.holders++ == 0) owner.array = array;
  }
  return NDArray::wrap(address, array.shape(), nullptr, array.dtype(), release, address,
                       array.device());
}

bool is_handed_over(void (*deleter)(void*)) { return deleter == release; }

bool is_handed_over(const void* address) {
  Owners& all = owners();
  std::lock_guard lock(all.mutex);
  return all.by_address.count(const_cast<void*>(address)) > 0;
}

}  // namespace relay
