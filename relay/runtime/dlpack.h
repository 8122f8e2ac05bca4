// The DLPack exchange format, written from its specification (ABI of version 1.0, and the
// unversioned one before), and conversions from and to arrays.
#pragma once

#include <relay/runtime/device.h>
#include <relay/runtime/ndarray.h>

#include <cstdint>
#include <optional>

namespace relay::dlpack {

struct Version {
  uint32_t major;
  uint32_t minor;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null means row-major
  uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};

inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kIsCopied = 2;

struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  uint64_t flags;
  Tensor tensor;
};

inline constexpr Version kVersion{1, 0};

static_assert(sizeof(Device) == 8 && sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 64 &&
              sizeof(ManagedTensorVersioned) == 80);

DataType to_dlpack(DType dtype);
/// Nothing if no element type corresponds (several lanes, other codes or widths).
std::optional<DType> from_dlpack(DataType type);

/// For a receiver that may write to the elements: the memory of `array` if no other handle refers
/// to it, else that of a copy. It stays on its device; the receiver calls the deleter.
ManagedTensor* export_array(const NDArray& array);
/// The same, but memory with other handles is shared too, and marked as read-only (kReadOnly). A
/// copy if `copy` is true or the array is uniform (kIsCopied).
ManagedTensorVersioned* export_array_versioned(const NDArray& array, bool copy = false);
/// The memory of `array` itself, to be written whoever else refers to it: the caller lets them.
ManagedTensor* export_writable(const NDArray& array);
ManagedTensorVersioned* export_writable_versioned(const NDArray& array);

/// Takes over `tensor` without a copy. Its deleter runs when the memory is no longer used, and also
/// if this throws. `Error` for a tensor on a device that is not usable or with another element
/// type.
NDArray import_array(ManagedTensor* tensor);
NDArray import_array(ManagedTensorVersioned* tensor);

}  // namespace relay::dlpack
