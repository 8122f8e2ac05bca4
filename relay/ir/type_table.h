// Internal to ir/: the table of all types.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include <relay/ir/type.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/hash.h>

namespace relay {

/// Finds or makes the one object of a structure, and frees it with its last owner.
///
/// Entries are weak. The count of an interned type goes from one to zero only under its shard's
/// lock, and a lookup takes its reference under that lock, so every type that it finds is alive.
struct TypeTable {
  struct Shard {
    ForkMutex mutex;
    std::vector<const Type*> buckets = std::vector<const Type*>(64);
    size_t count = 0;
  };
  static constexpr size_t kShards = 32;
  std::array<Shard, kShards> shards;

  static TypeTable& instance() {
    static TypeTable* table = new TypeTable;  // outlives every static that holds a type
    return *table;
  }
  Shard& shard(uint64_t hash) { return shards[hash >> 59]; }

  // The caller holds the lock.
  template <class Same>
  static const Type* find(Shard& shard, uint64_t hash, TypeTag tag, const Same& same) {
    const Type* type = shard.buckets[hash & (shard.buckets.size() - 1)];
    for (; type != nullptr; type = type->next_) {
      if (type->hash_ == hash && type->tag_ == tag && same(type)) {
        type->retain();
        return type;
      }
    }
    return nullptr;
  }

  /// `same(type)` compares a type with the requested one; `make()` creates it. The object is made
  /// without the lock, because making and freeing may release other types.
  template <class T, class Same, class Make>
  TypeRef intern(uint64_t hash, const Same& same, const Make& make) {
    auto equal = [&same](const Type* type) { return same(static_cast<const T&>(*type)); };
    Shard& home = shard(hash);
    {
      std::lock_guard lock(home.mutex);
      if (const Type* found = find(home, hash, T::kTag, equal)) return TypeRef::adopt(found);
    }
    T* made = make();
    made->hash_ = hash;
    const Type* winner;
    {
      std::lock_guard lock(home.mutex);
      winner = find(home, hash, T::kTag, equal);
      if (winner == nullptr) {
        insert(home, made);
        return TypeRef::adopt(made);
      }
    }
    destroy(made);
    return TypeRef::adopt(winner);
  }

  static void insert(Shard& shard, Type* type) {
    if (shard.count >= shard.buckets.size()) {
      std::vector<const Type*> buckets(shard.buckets.size() * 2);
      for (const Type* chain : shard.buckets) {
        while (chain != nullptr) {
          const Type* next = chain->next_;
          const Type*& slot = buckets[chain->hash_ & (buckets.size() - 1)];
          chain->next_ = slot;
          slot = chain;
          chain = next;
        }
      }
      shard.buckets = std::move(buckets);
    }
    type->flags_ |= Type::kInterned;
    const Type*& slot = shard.buckets[type->hash_ & (shard.buckets.size() - 1)];
    type->next_ = slot;
    slot = type;
    ++shard.count;
  }

  static void remove(Shard& shard, const Type* type) noexcept {
    const Type** slot = &shard.buckets[type->hash_ & (shard.buckets.size() - 1)];
    while (*slot != type) slot = &(*slot)->next_;
    *slot = type->next_;
    --shard.count;
  }

  static void release(const Type* type) noexcept;
  static void destroy(const Type* type) noexcept;

  static void add_child(Type* type, const Type* child);
  static void add_dim(Type* type, Dim dim);
  static void add_size(Type* type, size_t parts) {
    type->size_ += static_cast<uint32_t>(std::min<size_t>(parts, Type::kMaxSize));
  }
  static void add_binder(Type* type) { type->flags_ |= Type::kHasBinder; }
  static void check_limits(const Type* type);

  template <class T>
  static T* create(typename T::Parts fields) {
    return new T(std::move(fields));
  }
};

}  // namespace relay
