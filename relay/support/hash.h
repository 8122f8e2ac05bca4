// Hash mixing used throughout: 64-bit, the same in every process and on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace relay {

/// Finaliser of SplitMix64 (Steele, Lea, Flood 2014).
constexpr uint64_t hash_mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  x ^= x >> 31;
  return x;
}

constexpr uint64_t hash_combine(uint64_t seed, uint64_t value) {
  return hash_mix(seed * 0x9e3779b97f4a7c15ull + value + 0x7f4a7c15ull);
}

/// Hash of a run of bytes.
uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0);
inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(text.data(), text.size(), seed);
}

}  // namespace relay
