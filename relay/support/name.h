// Interned strings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace relay {

/// An interned string: copying and comparing cost a pointer. Thread-safe; never freed.
class Name {
 public:
  /// The empty name.
  Name();
  Name(std::string_view text);                              // NOLINT(google-explicit-constructor)
  Name(const char* text) : Name(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Name(const std::string& text)                             // NOLINT(google-explicit-constructor)
      : Name(std::string_view(text)) {}

  std::string_view view() const { return {entry_->text, entry_->length}; }
  std::string str() const { return std::string(view()); }
  bool empty() const { return entry_->length == 0; }
  /// A hash of the characters, the same in every process.
  uint64_t hash() const { return entry_->hash; }

  friend bool operator==(Name a, Name b) { return a.entry_ == b.entry_; }
  /// Alphabetical.
  friend bool operator<(Name a, Name b) { return a.view() < b.view(); }

 private:
  friend struct NameTable;
  friend struct std::hash<Name>;
  struct Entry {
    uint64_t hash;
    size_t length;
    const char* text;
  };
  const Entry* entry_;
};

}  // namespace relay

template <>
struct std::hash<relay::Name> {
  size_t operator()(relay::Name name) const noexcept {
    return std::hash<const void*>()(name.entry_);
  }
};
