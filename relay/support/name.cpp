#include <relay/support/name.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include <relay/support/hash.h>

namespace relay {

// Sharded by hash so that threads seldom wait for one another; text lives in blocks that are never
// moved nor freed.
struct NameTable {
  struct Shard {
    std::mutex mutex;
    // Open addressing. The place stands beside the entry, so that a probe seldom leaves the table.
    struct Slot {
      uint64_t place = 0;
      const Name::Entry* entry = nullptr;
    };
    std::vector<Slot> slots = std::vector<Slot>(64);
    size_t count = 0;
    std::vector<std::unique_ptr<char[]>> blocks;
    char* free = nullptr;
    size_t left = 0;

    Slot& find(uint64_t place, std::string_view text) {
      size_t mask = slots.size() - 1;
      for (size_t i = place & mask;; i = (i + 1) & mask) {
        Slot& slot = slots[i];
        if (slot.entry == nullptr ||
            (slot.place == place &&
             std::string_view(slot.entry->text, slot.entry->length) == text)) {
          return slot;
        }
      }
    }

    void grow() {
      std::vector<Slot> old(slots.size() * 2);
      old.swap(slots);
      size_t mask = slots.size() - 1;
      for (const Slot& slot : old) {
        if (slot.entry == nullptr) continue;
        size_t i = slot.place & mask;
        while (slots[i].entry != nullptr) i = (i + 1) & mask;
        slots[i] = slot;
      }
    }

    char* allocate(size_t size) {
      constexpr size_t kBlock = size_t{1} << 14;
      constexpr size_t kAlign = alignof(Name::Entry);
      size = (size + kAlign - 1) / kAlign * kAlign;
      if (size > left) {
        size_t block = size > kBlock ? size : kBlock;
        blocks.push_back(std::make_unique<char[]>(block));
        free = blocks.back().get();
        left = block;
      }
      char* result = free;
      free += size;
      left -= size;
      return result;
    }
  };
  std::array<Shard, 16> shards;

  static NameTable& instance() {
    static NameTable* table = new NameTable;  // outlives every static that holds a name
    return *table;
  }

  // Where to look for a name. Those that differ in their last character only, as numbered ones do,
  // are neighbours: programs walk through them in order, and a table of a million does not fit the
  // caches.
  static uint64_t place_of(std::string_view text) {
    if (text.empty()) return 0;
    uint64_t hash = hash_text(text.substr(0, text.size() - 1));
    return hash << 4 | (static_cast<unsigned char>(text.back()) & 15u);
  }

  const Name::Entry* intern(std::string_view text) {
    uint64_t place = place_of(text);
    Shard& shard = shards[place >> 60];
    std::lock_guard lock(shard.mutex);
    Shard::Slot& slot = shard.find(place, text);
    if (slot.entry != nullptr) return slot.entry;
    char* memory = shard.allocate(sizeof(Name::Entry) + text.size());
    char* characters = memory + sizeof(Name::Entry);
    if (!text.empty()) std::memcpy(characters, text.data(), text.size());
    auto* entry = new (memory) Name::Entry{hash_text(text), text.size(), characters};
    slot = {place, entry};
    if (++shard.count * 2 > shard.slots.size()) shard.grow();
    return entry;
  }
};

Name::Name() {
  static const Entry* empty = NameTable::instance().intern("");
  entry_ = empty;
}
Name::Name(std::string_view text) : entry_(NameTable::instance().intern(text)) {}

}  // namespace relay
