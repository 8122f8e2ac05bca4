// A flat hash map keyed by pointer, for the tables of one inference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <relay/support/hash.h>

namespace relay::inference {

/// Open addressing; entries are never removed. References are invalidated by insertion.
template <class T>
class PointerMap {
 public:
  T* find(const void* key) {
    if (size_ == 0) return nullptr;
    Slot& slot = slots_[probe(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  T& operator[](const void* key) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    Slot& slot = slots_[probe(key)];
    if (slot.key != key) {
      slot.key = key;
      ++size_;
    }
    return slot.value;
  }
  size_t size() const { return size_; }
  template <class F>
  void for_each(F&& f) {
    for (Slot& slot : slots_) {
      if (slot.key != nullptr) f(slot.key, slot.value);
    }
  }

 private:
  struct Slot {
    const void* key = nullptr;
    T value{};
  };
  size_t probe(const void* key) const {
    size_t mask = slots_.size() - 1;
    size_t i = hash_mix(reinterpret_cast<uintptr_t>(key)) & mask;
    while (slots_[i].key != nullptr && slots_[i].key != key) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(old.empty() ? 64 : old.size() * 2);
    for (Slot& slot : old) {
      if (slot.key != nullptr) slots_[probe(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace relay::inference
