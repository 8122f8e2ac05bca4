#include <relay/support/name.h>

#include <array>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/hash.h>

namespace relay {

// Sharded by hash so that threads seldom wait for one another. Entries are weak: the count of one
// goes to zero only under its shard's lock, and a lookup takes its reference under that lock, so
// whatever is found is alive.
struct NameTable {
  using Entry = Name::Entry;
  struct Shard {
    ForkMutex mutex;
    // Open addressing. The place stands beside the entry, so that a probe seldom leaves the table.
    struct Slot {
      uint64_t place = 0;
      const Entry* entry = nullptr;
    };
    std::vector<Slot> slots = std::vector<Slot>(64);
    size_t count = 0;

    // The slot of the text, or the free slot where it belongs.
    size_t find(uint64_t place, std::string_view text) const {
      size_t mask = slots.size() - 1;
      for (size_t i = place & mask;; i = (i + 1) & mask) {
        const Slot& slot = slots[i];
        if (slot.entry == nullptr ||
            (slot.place == place &&
             std::string_view(slot.entry->text(), slot.entry->length) == text)) {
          return i;
        }
      }
    }

    void insert(size_t at, const Entry* entry) {
      slots[at] = {entry->place, entry};
      if (++count * 2 > slots.size()) resize(slots.size() * 2);
    }

    // Closes the gap: an entry behind it moves up unless that is before the slot where its probe
    // begins.
    void remove(const Entry* entry) noexcept {
      size_t mask = slots.size() - 1;
      size_t gap = entry->place & mask;
      while (slots[gap].entry != entry) gap = (gap + 1) & mask;
      for (size_t i = (gap + 1) & mask; slots[i].entry != nullptr; i = (i + 1) & mask) {
        size_t begin = slots[i].place & mask;
        if (((i - begin) & mask) < ((i - gap) & mask)) continue;
        slots[gap] = slots[i];
        gap = i;
      }
      slots[gap] = {};
      --count;
    }

    void resize(size_t size) {
      std::vector<Slot> old(size);
      old.swap(slots);
      size_t mask = slots.size() - 1;
      for (const Slot& slot : old) {
        if (slot.entry == nullptr) continue;
        size_t i = slot.place & mask;
        while (slots[i].entry != nullptr) i = (i + 1) & mask;
        slots[i] = slot;
      }
    }
  };
  std::array<Shard, 16> shards;

  static NameTable& instance() {
    static NameTable* table = new NameTable;  // outlives every static that holds a name
    return *table;
  }
  Shard& shard(uint64_t place) { return shards[place >> 60]; }

  // The place where the search for a name begins. Names that differ only in their last character,
  // like numbered ones, are neighbours: programs walk through them in order, and a table of a
  // million does not fit the caches.
  static uint64_t place_of(std::string_view text) {
    uint64_t hash = hash_text(text.substr(0, text.size() - 1));
    return hash << 4 | (static_cast<unsigned char>(text.back()) & 15u);
  }

  const Entry* intern(std::string_view text) {
    if (text.size() > std::numeric_limits<uint32_t>::max()) throw Error("a name is too long");
    uint64_t place = place_of(text);
    Shard& home = shard(place);
    std::lock_guard lock(home.mutex);
    size_t at = home.find(place, text);
    if (const Entry* found = home.slots[at].entry) {
      found->refs.fetch_add(1, std::memory_order_relaxed);
      return found;
    }
    void* memory = ::operator new(sizeof(Entry) + text.size());
    auto* entry = new (memory) Entry{hash_text(text), place, static_cast<uint32_t>(text.size())};
    std::memcpy(static_cast<char*>(memory) + sizeof(Entry), text.data(), text.size());
    home.insert(at, entry);
    return entry;
  }

  void release(const Entry* entry) noexcept {
    uint32_t count = entry->refs.load(std::memory_order_relaxed);
    while (count > 1) {
      if (entry->refs.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel)) return;
    }
    {
      Shard& home = shard(entry->place);
      std::lock_guard lock(home.mutex);
      if (entry->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      home.remove(entry);
    }
    ::operator delete(const_cast<Entry*>(entry));
  }
};

Name::Name(std::string_view text)
    : entry_(text.empty() ? nullptr : NameTable::instance().intern(text)) {}

void Name::release() const noexcept { NameTable::instance().release(entry_); }

uint64_t Name::empty_hash() { return hash_text(""); }

size_t Name::count() {
  size_t count = 0;
  for (NameTable::Shard& shard : NameTable::instance().shards) {
    std::lock_guard lock(shard.mutex);
    count += shard.count;
  }
  return count;
}

}  // namespace relay
