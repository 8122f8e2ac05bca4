#include <relay/runtime/dlpack.h>
#include <relay/support/error.h>

#include <memory>
#include <string>

namespace relay::dlpack {
namespace {

template <class Managed>
void release_managed(void* context) {
  auto* managed = static_cast<Managed*>(context);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

template <class Managed>
void drop_exported(Managed* managed) {
  static_cast<NDArrayObject*>(managed->context)->release();
  delete managed;
}

template <class Managed>
Managed* export_as(const NDArray& array) {
  auto managed = std::make_unique<Managed>();
  array.object()->retain();
  managed->context = array.object();
  managed->deleter = drop_exported<Managed>;
  // Extents and strides are immutable and live as long as the object that is now held.
  managed->tensor = {array.raw(),
                     array.device(),
                     static_cast<int32_t>(array.rank()),
                     to_dlpack(array.dtype()),
                     const_cast<int64_t*>(array.shape().data()),
                     const_cast<int64_t*>(array.strides().data()),
                     0};
  return managed.release();
}

template <class Managed>
NDArray import_as(Managed* managed) {
  const Tensor& tensor = managed->tensor;
  auto give_back = [](Managed* m) { release_managed<Managed>(m); };
  std::unique_ptr<Managed, decltype(give_back)> guard(managed, give_back);
  if (!is_usable(tensor.device))
    throw Error("a DLPack tensor cannot be used: " + unusable_text(tensor.device));
  std::optional<DType> dtype = from_dlpack(tensor.dtype);
  if (!dtype) {
    throw Error("a DLPack tensor of type code " + std::to_string(tensor.dtype.code) + ", " +
                std::to_string(tensor.dtype.bits) + " bits and " +
                std::to_string(tensor.dtype.lanes) + " lanes has no element type here");
  }
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr))
    throw Error("a DLPack tensor has no valid shape");
  auto* data = static_cast<std::byte*>(tensor.data);
  if (data != nullptr) data += tensor.byte_offset;
  guard.release();  // NOLINT(bugprone-unused-return-value): wrap gives it back also if it throws
  return NDArray::wrap(data, {tensor.shape, static_cast<size_t>(tensor.ndim)}, tensor.strides,
                       *dtype, release_managed<Managed>, managed, tensor.device);
}

}  // namespace

DataType to_dlpack(DType dtype) {
  return {static_cast<uint8_t>(dtype.code), dtype.is_bool() ? uint8_t{8} : dtype.bits, 1};
}

std::optional<DType> from_dlpack(DataType type) {
  if (type.lanes != 1) return std::nullopt;
  // One-bit unsigned is how bool was written before it had a code.
  if ((type.code == static_cast<uint8_t>(DTypeCode::kBool) && type.bits == 8) ||
      (type.code == static_cast<uint8_t>(DTypeCode::kUInt) && type.bits == 1))
    return kBool;
  for (DType t : kAllDTypes) {
    if (!t.is_bool() && static_cast<uint8_t>(t.code) == type.code && t.bits == type.bits) return t;
  }
  return std::nullopt;
}

ManagedTensor* export_array(const NDArray& array) {
  return export_as<ManagedTensor>(array.unique() ? array : array.copy());
}

ManagedTensorVersioned* export_array_versioned(const NDArray& array, bool copy) {
  // A receiver that writes to one element does not expect all of them to change.
  copy |= array.is_uniform();
  const bool writable = copy || array.unique();
  auto* managed = export_as<ManagedTensorVersioned>(copy ? array.copy() : array);
  managed->version = kVersion;
  managed->flags = (writable ? 0 : kReadOnly) | (copy ? kIsCopied : 0);
  return managed;
}

ManagedTensor* export_writable(const NDArray& array) { return export_as<ManagedTensor>(array); }

ManagedTensorVersioned* export_writable_versioned(const NDArray& array) {
  auto* managed = export_as<ManagedTensorVersioned>(array);
  managed->version = kVersion;
  managed->flags = 0;
  return managed;
}

NDArray import_array(ManagedTensor* tensor) { return import_as(tensor); }

NDArray import_array(ManagedTensorVersioned* tensor) {
  if (tensor->version.major != kVersion.major) {
    std::string version = std::to_string(tensor->version.major);
    release_managed<ManagedTensorVersioned>(tensor);
    throw Error("a DLPack tensor of version " + version + " cannot be read");
  }
  return import_as(tensor);
}

}  // namespace relay::dlpack
