// Hash tables keyed by address, for walks over large graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace relay {

/// A map from addresses to `V` in one array: several times faster than std::unordered_map and
/// without an allocation for each entry. Inserting moves entries, so pointers to values are
/// short-lived. Null is no key. Order is not defined; do not iterate. Keys lie 2^kApart bytes apart
/// or more.
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

  /// The value at `key`, made by default if absent; and whether it was absent.
  std::pair<V*, bool> insert(const K* key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    bool fresh = slot.key == nullptr;
    if (fresh) {
      slot.key = key;
      ++count_;
    }
    return {&slot.value, fresh};
  }
  V& operator[](const K* key) { return *insert(key).first; }

  void erase(const K* key) {
    if (slots_.empty()) return;
    size_t hole = place(key);
    if (slots_[hole].key != key) return;
    --count_;
    // Entries behind move up so that no probe meets a gap.
    size_t mask = slots_.size() - 1;
    for (size_t next = (hole + 1) & mask; slots_[next].key != nullptr; next = (next + 1) & mask) {
      size_t home = start(slots_[next].key);
      if (((next - home) & mask) >= ((next - hole) & mask)) {
        slots_[hole] = std::move(slots_[next]);
        hole = next;
      }
    }
    slots_[hole] = Slot();
  }

  void clear() {
    slots_ = {};
    count_ = 0;
    shift_ = 63;
  }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

  /// How many entries a look-up of `key` passes over; for tests of the hash.
  size_t passed(const K* key) const {
    return slots_.empty() ? 0 : (place(key) - start(key)) & (slots_.size() - 1);
  }

 private:
  struct Slot {
    const K* key = nullptr;
    [[no_unique_address]] V value{};
  };

  // Neighbours in memory are neighbours here, since walks tend to follow the order of allocation.
  // Where each megabyte starts is spread evenly by Fibonacci hashing (Knuth 6.4), and moved a
  // little by a mixed hash: nodes of one size lie at regular distances, and megabytes at regular
  // distances, too, would put them into the same slots.
  size_t start(const K* key) const {
    auto address = reinterpret_cast<uintptr_t>(key);
    uint64_t spread = (address >> 20) * 0x9e3779b97f4a7c15ull;
    uint64_t mixed = (spread ^ (spread >> 29)) * 0xd6e8feb86659fd93ull;
    return ((address >> kApart) + (spread >> shift_) + (mixed >> 54)) & (slots_.size() - 1);
  }
  // Where `key` is or would go. There is always a free slot.
  size_t place(const K* key) const {
    size_t i = start(key);
    while (slots_[i].key != key && slots_[i].key != nullptr) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    shift_ = 64;
    for (size_t n = slots_.size(); n > 1; n /= 2) --shift_;
    for (Slot& slot : old) {
      if (slot.key != nullptr) slots_[place(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
  int shift_ = 63;  // 64 - log2 of the number of slots
};

/// A set of addresses.
template <class K>
class PointerSet {
 public:
  /// Whether it was absent.
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
