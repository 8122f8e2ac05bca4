// Interned strings.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace relay {

/// An interned string: equal strings are one object, so comparing costs a pointer. Counted: the
/// text is freed with its last `Name`. Thread-safe.
class Name {
 public:
  /// The empty name.
  constexpr Name() noexcept = default;
  Name(std::string_view text);                              // NOLINT(google-explicit-constructor)
  Name(const char* text) : Name(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Name(const std::string& text)                             // NOLINT(google-explicit-constructor)
      : Name(std::string_view(text)) {}
  Name(const Name& other) noexcept : entry_(other.entry_) {
    if (entry_ != nullptr) entry_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Name(Name&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  Name& operator=(Name other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~Name() {
    if (entry_ != nullptr) release();
  }

  /// Valid as long as a `Name` of this text exists.
  std::string_view view() const {
    return entry_ == nullptr ? std::string_view()
                             : std::string_view(entry_->text(), entry_->length);
  }
  std::string str() const { return std::string(view()); }
  bool empty() const { return entry_ == nullptr; }
  /// A hash of the characters, the same in every process.
  uint64_t hash() const { return entry_ == nullptr ? empty_hash() : entry_->hash; }

  friend bool operator==(const Name& a, const Name& b) { return a.entry_ == b.entry_; }
  /// Alphabetical.
  friend bool operator<(const Name& a, const Name& b) { return a.view() < b.view(); }

  /// The number of different names in the process now.
  static size_t count();

 private:
  friend struct NameTable;
  friend struct std::hash<Name>;
  // The characters follow it.
  struct Entry {
    uint64_t hash;
    uint64_t place;
    uint32_t length;
    mutable std::atomic<uint32_t> refs{1};

    const char* text() const { return reinterpret_cast<const char*>(this + 1); }
  };

  static uint64_t empty_hash();
  void release() const noexcept;

  const Entry* entry_ = nullptr;
};

}  // namespace relay

template <>
struct std::hash<relay::Name> {
  size_t operator()(const relay::Name& name) const noexcept {
    return std::hash<const void*>()(name.entry_);
  }
};
