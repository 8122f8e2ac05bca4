#include <relay/support/name.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include <relay/support/hash.h>

namespace relay {

// Sharded by hash so that threads seldom wait for one another; text lives in blocks that are never
// moved nor freed.
struct NameTable {
  struct EntryHash {
    using is_transparent = void;
    size_t operator()(const Name::Entry* entry) const { return entry->hash; }
    size_t operator()(std::string_view text) const { return hash_text(text); }
  };
  struct EntryEqual {
    using is_transparent = void;
    static std::string_view text(const Name::Entry* entry) { return {entry->text, entry->length}; }
    bool operator()(const Name::Entry* a, const Name::Entry* b) const { return a == b; }
    bool operator()(std::string_view a, const Name::Entry* b) const { return a == text(b); }
    bool operator()(const Name::Entry* a, std::string_view b) const { return text(a) == b; }
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_set<const Name::Entry*, EntryHash, EntryEqual> entries;
    std::vector<std::unique_ptr<char[]>> blocks;
    char* free = nullptr;
    size_t left = 0;

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

  const Name::Entry* intern(std::string_view text) {
    uint64_t hash = hash_text(text);
    Shard& shard = shards[(hash >> 60) & 15];
    std::lock_guard lock(shard.mutex);
    auto found = shard.entries.find(text);
    if (found != shard.entries.end()) return *found;
    char* memory = shard.allocate(sizeof(Name::Entry) + text.size());
    char* characters = memory + sizeof(Name::Entry);
    if (!text.empty()) std::memcpy(characters, text.data(), text.size());
    auto* entry = new (memory) Name::Entry{hash, text.size(), characters};
    shard.entries.insert(entry);
    return entry;
  }
};

Name::Name() {
  static const Entry* empty = NameTable::instance().intern("");
  entry_ = empty;
}
Name::Name(std::string_view text) : entry_(NameTable::instance().intern(text)) {}

}  // namespace relay
