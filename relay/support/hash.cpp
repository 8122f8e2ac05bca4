#include <relay/support/hash.h>

#include <cstring>

namespace relay {

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t hash = hash_combine(seed, size);
  while (size >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = hash_combine(hash, word);
    bytes += 8;
    size -= 8;
  }
  if (size > 0) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, size);
    hash = hash_combine(hash, word);
  }
  return hash;
}

}  // namespace relay
