// The order of elements as an order of unsigned numbers, which sorting kernels work on: elements
// rise, or fall, with their keys; -0 and 0 are equal; not-a-number comes last either way.
#pragma once

#include <relay/runtime/dtype.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace relay {

template <size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

/// The key type for an element type.
template <class T>
using KeyOf = UnsignedOf<sizeof(T)>;

/// Facts about the bits of an element type.
template <class T>
struct KeyTraits {
  using Key = KeyOf<T>;
  static constexpr bool kFloat = !std::is_integral_v<T> && !std::is_same_v<T, Bool>;
  static constexpr Key kSign = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  static constexpr Key kInfinity = static_cast<Key>(std::is_same_v<T, float>    ? 0x7f800000
                                                    : std::is_same_v<T, double> ? 0x7ff0000000000000
                                                    : std::is_same_v<T, Half>   ? 0x7c00
                                                    : std::is_same_v<T, BFloat16> ? 0x7f80
                                                                                  : 0);
};

template <class T>
bool is_nan_element(T value) {
  using Traits = KeyTraits<T>;
  if constexpr (!Traits::kFloat) return false;
  auto bits = std::bit_cast<KeyOf<T>>(value);
  return static_cast<KeyOf<T>>(bits & static_cast<KeyOf<T>>(~Traits::kSign)) > Traits::kInfinity;
}

/// The key of an element for rising or falling order.
template <bool falling, class T>
KeyOf<T> order_key(T value) {
  using Traits = KeyTraits<T>;
  using Key = KeyOf<T>;
  constexpr Key all = static_cast<Key>(~Key{0});
  Key bits = std::bit_cast<Key>(value);
  if constexpr (Traits::kFloat) {
    Key magnitude = static_cast<Key>(bits & static_cast<Key>(~Traits::kSign));
    bits = magnitude == 0 ? Key{0} : bits;
    // Branchless: the sign bit is set, or all bits turned round.
    Key turn = static_cast<Key>((bits & Traits::kSign) != 0 ? all : Traits::kSign);
    Key key = static_cast<Key>(bits ^ turn);
    if constexpr (falling) key = static_cast<Key>(~key);
    return magnitude > Traits::kInfinity ? all : key;
  } else {
    if constexpr (std::is_signed_v<T>) bits = static_cast<Key>(bits ^ Traits::kSign);
    return falling ? static_cast<Key>(~bits) : bits;
  }
}

/// An element with this key; for not-a-number any.
template <bool falling, class T>
T order_element(KeyOf<T> key) {
  using Traits = KeyTraits<T>;
  using Key = KeyOf<T>;
  if constexpr (falling) key = static_cast<Key>(~key);
  if constexpr (Traits::kFloat) {
    Key turn =
        static_cast<Key>((key & Traits::kSign) != 0 ? Traits::kSign : static_cast<Key>(~Key{0}));
    key = static_cast<Key>(key ^ turn);
  } else if constexpr (std::is_signed_v<T>) {
    key = static_cast<Key>(key ^ Traits::kSign);
  }
  return std::bit_cast<T>(key);
}

/// A key with the position of its element, so that equal elements keep their order. Narrow items
/// are one number: keys of up to 32 bits and positions below 2^32.
using NarrowItem = uint64_t;
struct WideItem {
  uint64_t key;
  uint64_t position;
  friend bool operator<(const WideItem& a, const WideItem& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};

inline NarrowItem make_item(NarrowItem, uint32_t key, int64_t position) {
  return static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(position);
}
inline WideItem make_item(const WideItem&, uint64_t key, int64_t position) {
  return {key, static_cast<uint64_t>(position)};
}
inline uint64_t item_key(NarrowItem item) { return item >> 32; }
inline uint64_t item_key(const WideItem& item) { return item.key; }
inline int64_t item_position(NarrowItem item) { return static_cast<int64_t>(item & 0xffffffff); }
inline int64_t item_position(const WideItem& item) { return static_cast<int64_t>(item.position); }
/// Byte `pass` of the key.
inline uint32_t item_digit(NarrowItem item, int pass) {
  return static_cast<uint32_t>(item >> (32 + 8 * pass)) & 0xff;
}
inline uint32_t item_digit(const WideItem& item, int pass) {
  return static_cast<uint32_t>(item.key >> (8 * pass)) & 0xff;
}

/// Writes the items of the elements begin … end - 1 of a lane, `stride` apart.
template <class Item>
using FillItems = void (*)(const void* lane, int64_t stride, int64_t begin, int64_t end, Item* to);

template <class Item, class T, bool falling>
void fill_items(const void* lane, int64_t stride, int64_t begin, int64_t end, Item* to) {
  const T* from = static_cast<const T*>(lane);
  for (int64_t i = begin; i < end; ++i)
    *to++ = make_item(Item{}, order_key<falling>(from[i * stride]), i);
}

template <class Item>
FillItems<Item> items_of(DType dtype, bool falling) {
  return dispatch(dtype, [&](auto tag) -> FillItems<Item> {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) == 8 && std::is_same_v<Item, NarrowItem>) {
      return nullptr;
    } else {
      return falling ? fill_items<Item, T, true> : fill_items<Item, T, false>;
    }
  });
}

/// Calls `body` with an item of the smallest form that suffices for lanes of this extent.
template <class F>
void with_items(DType dtype, int64_t extent, F&& body) {
  if (dtype.size() <= 4 && extent < (int64_t{1} << 32)) {
    body(NarrowItem{});
  } else {
    body(WideItem{});
  }
}

}  // namespace relay
