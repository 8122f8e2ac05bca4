// Writes the structure of an executable as bytes and reads it back; code and tensors are stored
// beside it.
#pragma once

#include <cstdint>
#include <functional>

#include <relay/vm/machine/byte_stream.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

inline constexpr uint64_t kDataAlignment = 64;
inline constexpr int kDeepestStoredType = 256;
inline uint64_t round_up_data(uint64_t offset) {
  return (offset + kDataAlignment - 1) & ~(kDataAlignment - 1);
}

/// True if the elements of a constant are in the data section. For a uniform constant the structure
/// has the one element, unless it is made late.
inline bool is_in_data(const Executable& executable, uint32_t constant) {
  const Value& value = executable.constants[constant];
  if (!value.is_tensor() || value.is_scalar()) return false;
  return executable.late_constants.contains(constant) || !value.array().is_uniform();
}

/// Blobs follow one another in the code section, tensors in the data section, each at a multiple of
/// kDataAlignment. Throws Error for an executable that cannot be stored.
void encode_executable(const Executable& executable, ByteWriter& out);

/// Throws Error for malformed bytes. The result is still to be verified.
void decode_executable(ByteReader& in, std::span<const std::byte> code,
                       std::span<const std::byte> data,
                       const std::function<NDArray(ShapeView, DType, size_t offset)>& tensor,
                       Executable& out);

}  // namespace relay::vm
