// Tensors in memory.
#pragma once

#include <relay/runtime/device.h>
#include <relay/runtime/dtype.h>
#include <relay/support/ref.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace relay {

using Shape = std::vector<int64_t>;
using ShapeView = std::span<const int64_t>;

/// "(2, 3)", "(2,)", "()".
std::string shape_text(ShapeView shape);

/// The number of elements of `shape`. Throws `Error` for a negative extent or a product beyond
/// int64.
int64_t element_count(ShapeView shape);

/// Writes into `strides` the distances in elements along each axis of an array without gaps.
void row_major_strides(ShapeView shape, int64_t* strides);

/// The counted object behind `NDArray`: a view of memory that it owns or that its root owns. In the
/// same allocation follow extents and strides, and then the elements of a fresh array.
class NDArrayObject {
 public:
  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 private:
  friend class NDArray;
  friend class Value;
  NDArrayObject() = default;
  void destroy() const noexcept;
  int64_t* extents() const {
    return reinterpret_cast<int64_t*>(const_cast<NDArrayObject*>(this) + 1);
  }
  int64_t* strides() const { return extents() + rank_; }

  mutable std::atomic<uint32_t> refs_{1};
  DType dtype_;
  uint8_t rank_ = 0;
  bool contiguous_ = true;
  Device device_;
  std::byte* data_ = nullptr;            // the first element of this view
  int64_t size_ = 0;                     // number of elements
  const NDArrayObject* root_ = nullptr;  // owner of the memory, null if this is it
  std::byte* base_ = nullptr;            // a root's memory: first byte …
  size_t bytes_ = 0;                     // … and length
  size_t charged_ = 0;
  void (*deleter_)(void*) = nullptr;  // of foreign memory, and of that of other devices
  void* deleter_context_ = nullptr;
};

/// Handle of a dense tensor: element type, extents, strides, and a view of shared memory on a
/// device. Arrays made from an array are on its device. Copying the handle shares the tensor. A
/// default handle is empty (`!array`), which is not a tensor.
///
/// Constness is shallow; the callers agree on who may write (see `unique`). Several threads may use
/// handles, one thread at a time each.
class NDArray {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kMaxRank = 64;

  NDArray() = default;

  /// Bytes of the elements of such a tensor. Throws Error for a negative extent, or more elements
  /// than can be counted.
  static size_t bytes_needed(ShapeView shape, DType dtype);
  /// Throws the Error about a tensor that does not fit into memory.
  [[noreturn]] static void refuse(ShapeView shape, DType dtype);
  /// A fresh row-major array with unset elements, 64-byte aligned. Like every function here that
  /// allocates, it throws `Error` for a negative extent, an overflow, or more memory than the
  /// limit.
  static NDArray empty(ShapeView shape, DType dtype, Device device = kCpu);
  static NDArray empty(std::initializer_list<int64_t> shape, DType dtype, Device device = kCpu) {
    return empty(ShapeView(shape.begin(), shape.size()), dtype, device);
  }
  /// As `empty`, with all bytes zero.
  static NDArray zeros(ShapeView shape, DType dtype);
  /// A copy of exactly the bytes of the elements in row-major order.
  static NDArray from_bytes(ShapeView shape, DType dtype, std::span<const std::byte> bytes,
                            Device device = kCpu);
  /// A copy of the elements in row-major order.
  template <class T>
  static NDArray from(ShapeView shape, std::span<const T> elements) {
    return from_bytes(shape, dtype_of<T>(), std::as_bytes(elements));
  }
  template <class T>
  static NDArray from(std::initializer_list<int64_t> shape, std::initializer_list<T> elements) {
    return from_bytes({shape.begin(), shape.size()}, dtype_of<T>(),
                      std::as_bytes(std::span(elements.begin(), elements.size())));
  }
  /// A rank-0 array.
  template <class T>
  static NDArray scalar(T value) {
    NDArray result = empty(ShapeView(), dtype_of<T>());
    *reinterpret_cast<T*>(result.raw()) = value;
    return result;
  }
  /// A rank-0 array of `dtype` with `value` converted as `convert_element` does.
  static NDArray scalar(DType dtype, double value);
  static NDArray scalar_int(DType dtype, int64_t value);
  /// A tensor of `shape` whose elements all equal `element`, an array of rank 0. It is a view of it
  /// with strides 0, so the elements take no memory until `copy` or `contiguous` asks for them. It
  /// counts as shared even without other handles: no such tensor is `unique`.
  static NDArray uniform(const NDArray& element, ShapeView shape);
  /// Foreign memory without a copy. `data` is the element at index (0, …, 0). `strides` count
  /// elements, may be negative or 0, and are row-major if null. When nothing uses the memory any
  /// more, `deleter(context)` runs on the thread that notices; it also runs if this throws.
  static NDArray wrap(void* data, ShapeView shape, const int64_t* strides, DType dtype,
                      void (*deleter)(void*), void* context, Device device = kCpu);

  explicit operator bool() const { return static_cast<bool>(object_); }

  DType dtype() const { return object_->dtype_; }
  Device device() const { return object_->device_; }
  size_t rank() const { return object_->rank_; }
  ShapeView shape() const { return {object_->extents(), object_->rank_}; }
  /// In elements.
  ShapeView strides() const { return {object_->strides(), object_->rank_}; }
  int64_t extent(size_t axis) const { return object_->extents()[axis]; }
  int64_t stride(size_t axis) const { return object_->strides()[axis]; }
  /// Number of elements.
  int64_t size() const { return object_->size_; }
  /// Bytes of the elements, without gaps.
  size_t byte_size() const { return static_cast<size_t>(object_->size_) * dtype().size(); }
  /// Distance of the first element from the beginning of the memory.
  size_t byte_offset() const;
  /// Length of the memory in bytes; the elements may be only a part of it.
  size_t memory_bytes() const;
  /// Row-major without gaps.
  bool is_contiguous() const { return object_->contiguous_; }
  /// True for several elements that are one in memory: a view with strides 0.
  bool is_uniform() const;
  /// True if no other handle refers to the elements, so that you may overwrite them.
  bool unique() const;

  /// The first element.
  void* raw() const { return object_->data_; }
  template <class T>
  T* data() const {
    if (dtype() != dtype_of<T>()) throw_wrong_type(dtype_of<T>());
    return reinterpret_cast<T*>(object_->data_);
  }

  /// Any view of the same memory, starting `offset` elements after the first of this one. Throws
  /// `Error` if it does not lie inside the memory.
  NDArray view(ShapeView shape, ShapeView strides, int64_t offset = 0) const;
  /// Another shape with the same number of elements; shares the memory if contiguous or uniform,
  /// else copies.
  NDArray reshape(ShapeView shape) const;
  /// A view with axis `axes[i]` at place i.
  NDArray transpose(std::span<const size_t> axes) const;
  /// A view with all axes reversed.
  NDArray transpose() const;
  /// A view of elements `begin`, `begin + step`, … (`count` of them) of an axis.
  NDArray slice(size_t axis, int64_t begin, int64_t count, int64_t step = 1) const;
  /// A view with stride 0 along each stretched extent of 1 (or missing leading axis).
  NDArray broadcast_to(ShapeView shape) const;
  /// This array if it is contiguous, else a copy.
  NDArray contiguous() const;
  /// This array, or a uniform one (which frees the memory) if all of several elements have the same
  /// bits. Looks at them up to the first that differs.
  NDArray compact() const;
  /// A fresh contiguous array with the same elements.
  NDArray copy() const;
  /// This array if it is on that device, else a fresh one there with the same elements (uniform if
  /// this is).
  NDArray on(Device device) const;
  /// Writes the elements of `source` (same shape and dtype) into this array.
  void assign(const NDArray& source) const;
  /// A fresh array (uniform if this is) with each element converted as `convert_element` does; the
  /// elements themselves (shared) if the type is the same.
  NDArray cast(DType dtype) const;

  /// The only element. Throws `Error` if there are several or none.
  double item_as_double() const;
  int64_t item_as_int64() const;
  /// The element at a row-major position, whatever the strides.
  double element_as_double(int64_t position) const;
  int64_t element_as_int64(int64_t position) const;
  /// Address of the element at a row-major position.
  const void* element(int64_t position) const;

  /// Same shape, dtype, device and element bytes; strides do not matter.
  friend bool bit_equal(const NDArray& a, const NDArray& b);
  /// A hash that agrees with `bit_equal`, the same in every process.
  friend uint64_t content_hash(const NDArray& array);

  /// Identity of the tensors, not equality of their contents.
  friend bool operator==(const NDArray& a, const NDArray& b) { return a.object_ == b.object_; }
  const void* identity() const { return object_.get(); }

  /// The counted object, for `Value`.
  NDArrayObject* detach() && { return object_.detach(); }
  NDArrayObject* object() const { return object_.get(); }
  static NDArray adopt(NDArrayObject* object) {
    NDArray result;
    result.object_ = Ref<NDArrayObject>::adopt(object);
    return result;
  }

 private:
  [[noreturn]] void throw_wrong_type(DType asked) const;
  static NDArray allocate(ShapeView shape, DType dtype, bool zero);
  static NDArray allocate_elsewhere(ShapeView shape, DType dtype, Device device);
  static NDArray make_view(const NDArray& of, size_t rank);
  void finish_view();

  Ref<NDArrayObject> object_;
};

bool bit_equal(const NDArray& a, const NDArray& b);
uint64_t content_hash(const NDArray& array);

}  // namespace relay
