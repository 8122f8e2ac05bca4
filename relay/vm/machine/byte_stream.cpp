#include <relay/vm/machine/byte_stream.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/support/hash.h>

namespace relay::vm {

void Checksum::stripes(const unsigned char* bytes, size_t count) {
  uint64_t lanes[kLanes];  // in registers
  std::copy(lanes_, lanes_ + kLanes, lanes);
  for (; count > 0; --count, bytes += sizeof rest_) {
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; ++i) {
      uint64_t word;
      std::memcpy(&word, bytes + 8 * i, 8);
      // Multiplication by an odd number and the shift lose nothing: a change of one word always
      // shows.
      uint64_t lane = (lanes[i] ^ word) * 0x9fb21c651e98df25u;
      lanes[i] = lane ^ lane >> 32;
    }
  }
  std::copy(lanes, lanes + kLanes, lanes_);
}

void Checksum::update(const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  size_ += size;
  if (num_rest_ > 0) {
    size_t more = std::min(size, sizeof rest_ - num_rest_);
    std::memcpy(rest_ + num_rest_, bytes, more);
    num_rest_ += more;
    bytes += more;
    size -= more;
    if (num_rest_ < sizeof rest_) return;
    stripes(rest_, 1);
    num_rest_ = 0;
  }
  const size_t count = size / sizeof rest_;
  stripes(bytes, count);
  size -= count * sizeof rest_;
  if (size > 0) std::memcpy(rest_, bytes + count * sizeof rest_, size);
  num_rest_ = size;
}

uint64_t Checksum::finish() {
  std::memset(rest_ + num_rest_, 0, sizeof rest_ - num_rest_);
  stripes(rest_, 1);
  uint64_t hash = size_;
  for (uint64_t lane : lanes_) hash = hash_combine(hash, lane);
  return hash;
}

void ByteReader::cut_short() { throw Error("its contents are cut short"); }
void ByteReader::malformed() { throw Error("its contents are malformed"); }

}  // namespace relay::vm
