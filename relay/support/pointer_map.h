// Hash tables keyed by address, for walks over large graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <relay/support/error.h>

namespace relay {

/// A map from addresses to `V` in one array: several times faster than std::unordered_map and
/// without an allocation for each entry. Inserting moves entries, so pointers to values are
/// short-lived. Null cannot be a key. The order is not defined, so do not iterate. Keys lie
/// 2^kApart bytes apart or more.
template <class K, class V, int kApart = 4>
class PointerMap {
 public:
  /// The value at `key`, or null.
  V* find(const K* key) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  const V* find(const K* key) const { return const_cast<PointerMap*>(this)->find(key); }
  bool contains(const K* key) const { return find(key) != nullptr; }

  /// The value at `key`, made by default if absent; the bool is true if it was absent.
  std::pair<V*, bool> insert(const K* key) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    bool fresh = slot.key == nullptr;
    if (fresh) {
      slot.key = key;
      ++used_;
      ++count_;
    }
    return {&slot.value, fresh};
  }
  V& operator[](const K* key) { return *insert(key).first; }
  /// The value at `key`, which must be present.
  const V& at(const K* key) const {
    const V* value = find(key);
    RELAY_CHECK(value != nullptr, "a key that is not in the map");
    return *value;
  }

  void erase(const K* key) {
    if (slots_.empty()) return;
    Slot& slot = slots_[place(key)];
    if (slot.key != key) return;
    slot = Slot();
    slot.key = erased();  // look-ups of other keys go on behind it
    --count_;
  }

  void clear() {
    slots_ = {};
    count_ = 0;
    used_ = 0;
    shift_ = 63;
  }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

  /// The number of entries that a look-up of `key` passes over; for tests of the hash.
  size_t passed(const K* key) const {
    size_t count = 0;
    if (!slots_.empty()) place(key, &count);
    return count;
  }

 private:
  struct Slot {
    const K* key = nullptr;
    [[no_unique_address]] V value{};
  };

  static const K* erased() { return reinterpret_cast<const K*>(uintptr_t{1}); }

  // Neighbours in memory are neighbours here, since walks tend to follow the order of allocation.
  // Fibonacci hashing (Knuth 6.4) spreads the starts of megabytes evenly.
  size_t start(const K* key) const {
    auto address = reinterpret_cast<uintptr_t>(key);
    uint64_t block = ((address >> 20) * 0x9e3779b97f4a7c15ull) >> shift_;
    return (address >> kApart) + block;
  }
  // Odd, so that its multiples reach every slot.
  static size_t step(const K* key) {
    uint64_t mixed = reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15ull;
    return (((mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93ull) >> 32) | 1;
  }
  // The place of `key`, or the one where it would go. A free slot always exists. Several megabytes
  // full of keys can start at one place: a key that finds no room in a few slots there is spread
  // over the table by double hashing (Knuth 6.4), so that keys do not crowd.
  size_t place(const K* key, size_t* passed = nullptr) const {
    constexpr size_t kFew = 8;
    size_t mask = slots_.size() - 1;
    size_t first = start(key) & mask;
    if (slots_[first].key == key || slots_[first].key == nullptr) return first;
    for (size_t by = step(key);; first += by) {
      for (size_t i = first; i < first + kFew; ++i) {
        const Slot& slot = slots_[i & mask];
        if (slot.key == key || slot.key == nullptr) return i & mask;
        if (passed != nullptr) ++*passed;
      }
    }
  }
  void grow() {
    size_t size = slots_.empty() ? 16 : slots_.size();
    if (2 * (count_ + 1) > size / 2) size *= 2;  // else only erased entries take room
    std::vector<Slot> old(size);
    old.swap(slots_);
    used_ = count_;
    shift_ = 64;
    for (size_t n = slots_.size(); n > 1; n /= 2) --shift_;
    for (Slot& slot : old) {
      if (slot.key != nullptr && slot.key != erased()) slots_[place(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
  size_t used_ = 0;  // erased ones included
  int shift_ = 63;   // 64 - log2 of the number of slots
};

/// A set of addresses.
template <class K>
class PointerSet {
 public:
  /// True if it was absent.
  bool insert(const K* key) { return map_.insert(key).second; }
  bool contains(const K* key) const { return map_.contains(key); }
  void erase(const K* key) { map_.erase(key); }
  void clear() { map_.clear(); }
  size_t size() const { return map_.size(); }
  bool empty() const { return map_.empty(); }

 private:
  struct Nothing {};
  PointerMap<K, Nothing> map_;
};

}  // namespace relay
