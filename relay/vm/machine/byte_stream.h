// The encoding of an executable's structure: numbers of variable length, strings, lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <relay/runtime/dtype.h>

namespace relay::vm {

/// A hash of bytes in pieces, some 20 GB/s: eight lanes, because each waits for its multiplication.
class Checksum {
 public:
  void update(const void* data, size_t size);
  uint64_t finish();

 private:
  void stripes(const unsigned char* bytes, size_t count);
  static constexpr int kLanes = 8;
  uint64_t lanes_[kLanes] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu,
                             0xd6e8feb86659fd93u, 0xc2b2ae3d27d4eb4fu, 0xff51afd7ed558ccdu,
                             0xc4ceb9fe1a85ec53u, 0x165667b19e3779f9u};
  unsigned char rest_[8 * kLanes] = {};
  size_t num_rest_ = 0;
  uint64_t size_ = 0;
};

class ByteWriter {
 public:
  void u8(uint8_t value) { bytes_.push_back(std::byte{value}); }
  /// Seven bits in a byte, the lowest first.
  void u64(uint64_t value) {
    while (value >= 0x80) {
      u8(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    u8(static_cast<uint8_t>(value));
  }
  void i64(int64_t value) {
    u64(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  /// An index that may be kNone or carry kLast: those are short too.
  void index(uint32_t value) {
    ++value;
    u64(value << 1 | value >> 31);
  }
  void flag(bool value) { u8(value ? 1 : 0); }
  void text(const std::string& value) {
    u64(value.size());
    const auto* begin = reinterpret_cast<const std::byte*>(value.data());
    bytes_.insert(bytes_.end(), begin, begin + value.size());
  }
  void dtype(DType value) {
    u8(static_cast<uint8_t>(value.code));
    u8(value.bits);
  }
  template <class T, class F>
  void list(const std::vector<T>& items, F each) {
    u64(items.size());
    for (const T& item : items) each(item);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Throws Error("… is cut short") and the like beyond the end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }
  uint8_t u8() {
    if (at_ == bytes_.size()) cut_short();
    return static_cast<uint8_t>(bytes_[at_++]);
  }
  uint64_t u64() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      uint8_t byte = u8();
      if (shift == 63 && byte > 1) malformed();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  uint32_t u32() {
    uint64_t value = u64();
    if (value > UINT32_MAX) malformed();
    return static_cast<uint32_t>(value);
  }
  int64_t i64() {
    uint64_t value = u64();
    return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  uint32_t index() {
    uint32_t value = u32();
    return (value >> 1 | value << 31) - 1;
  }
  bool flag() {
    uint8_t value = u8();
    if (value > 1) malformed();
    return value != 0;
  }
  std::string text() {
    uint64_t size = u64();
    if (size > bytes_.size() - at_) cut_short();
    std::string value(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return value;
  }
  DType dtype() {
    uint8_t code = u8();
    uint8_t bits = u8();
    return {static_cast<DTypeCode>(code), bits};
  }
  /// The length of a list whose items take at least `least` bytes each.
  size_t count(size_t least = 1) {
    uint64_t value = u64();
    if (value > (bytes_.size() - at_) / least) cut_short();
    return value;
  }
  template <class T, class F>
  void list(std::vector<T>& items, F each, size_t least = 1) {
    size_t size = count(least);
    items.clear();
    // A damaged count must not take memory that its items do not fill.
    constexpr size_t kMostAtOnce = 4096;
    items.reserve(size < kMostAtOnce ? size : kMostAtOnce);
    for (size_t i = 0; i < size; ++i) items.push_back(each());
  }
  [[noreturn]] static void cut_short();
  [[noreturn]] static void malformed();

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

}  // namespace relay::vm
