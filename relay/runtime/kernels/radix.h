// Radix sort, byte by byte from the lowest: stable, and the same on any number of threads.
#pragma once

#include <relay/runtime/kernels/order.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/library_kernel.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace relay {

/// Insertion is faster for at most so many items.
constexpr int64_t kFewItems = 48;

template <class Item>
void insertion_sort(Item* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    Item item = items[i];
    int64_t at = i;
    for (; at > 0 && item < items[at - 1]; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

/// Sorts by `digit(item, pass)` for the passes 0 (lowest) … passes - 1; `n` below 2^32. Returns the
/// one of `items` and `other` that has the result.
template <int passes, class Item, class Digit>
Item* radix_sort(Item* items, Item* other, int64_t n, Digit digit) {
  uint32_t counts[passes][256];
  std::memset(counts, 0, sizeof counts);
  for (int64_t i = 0; i < n; ++i) {
    for (int pass = 0; pass < passes; ++pass) ++counts[pass][digit(items[i], pass)];
  }
  for (int pass = 0; pass < passes; ++pass) {
    uint32_t* next = counts[pass];
    if (n == 0 || next[digit(items[0], pass)] == n) continue;  // all alike
    uint32_t sum = 0;
    for (int value = 0; value < 256; ++value) sum += std::exchange(next[value], sum);
    for (int64_t i = 0; i < n; ++i) other[next[digit(items[i], pass)]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

/// Several threads pay from so many items on.
constexpr int64_t kManyItems = 1 << 16;

/// The same with the work cut into tasks, for many items.
template <int passes, class Item, class Digit>
Item* radix_sort_shared(LibraryCall& call, Item* items, Item* other, int64_t n, Digit digit) {
  constexpr int64_t kChunks = 8;
  auto begin = [&](int64_t chunk) { return n / kChunks * chunk + std::min(chunk, n % kChunks); };
  Scratch<int64_t> counts(kChunks * 256);
  for (int pass = 0; pass < passes; ++pass) {
    call.parallel(kChunks, [&](int64_t chunk) {
      // Four counters, because equal digits in a row would wait for each other's counts.
      uint32_t own[4][256];
      std::memset(own, 0, sizeof own);
      int64_t i = begin(chunk), end = begin(chunk + 1);
      for (; i + 4 <= end; i += 4) {
        for (int k = 0; k < 4; ++k) ++own[k][digit(items[i + k], pass)];
      }
      for (; i < end; ++i) ++own[0][digit(items[i], pass)];
      int64_t* of = counts.data() + chunk * 256;
      for (int value = 0; value < 256; ++value)
        of[value] = int64_t{own[0][value]} + own[1][value] + own[2][value] + own[3][value];
    });
    int64_t sum = 0;
    bool alike = false;
    for (int value = 0; value < 256; ++value) {
      int64_t before = sum;
      for (int64_t chunk = 0; chunk < kChunks; ++chunk)
        sum += std::exchange(counts[chunk * 256 + value], sum);
      alike |= sum - before == n;
    }
    if (alike) continue;
    call.parallel(kChunks, [&](int64_t chunk) {
      int64_t next[256];
      std::memcpy(next, counts.data() + chunk * 256, sizeof next);
      int64_t end = begin(chunk + 1);
      for (int64_t i = begin(chunk); i < end; ++i) other[next[digit(items[i], pass)]++] = items[i];
    });
    std::swap(items, other);
  }
  return items;
}

/// Sorts items with keys of `bytes` bytes; returns the place of the result.
template <class Item>
Item* sort_items(LibraryCall& call, Item* items, Item* other, int64_t n, size_t bytes) {
  if (n <= kFewItems) {
    insertion_sort(items, n);
    return items;
  }
  auto digit = [](const Item& item, int pass) { return item_digit(item, pass); };
  auto run = [&](auto passes) {
    constexpr int kPasses = decltype(passes)::value;
    return n >= kManyItems ? radix_sort_shared<kPasses>(call, items, other, n, digit)
                           : radix_sort<kPasses>(items, other, n, digit);
  };
  if constexpr (std::is_same_v<Item, NarrowItem>) {
    if (bytes == 1) return run(std::integral_constant<int, 1>());
    if (bytes == 2) return run(std::integral_constant<int, 2>());
    return run(std::integral_constant<int, 4>());
  } else {
    if (bytes <= 4) return run(std::integral_constant<int, 4>());
    return run(std::integral_constant<int, 8>());
  }
}

}  // namespace relay
