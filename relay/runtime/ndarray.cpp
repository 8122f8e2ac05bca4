#include <relay/runtime/hand_over.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/ndarray.h>
#include <relay/runtime/pool.h>
#include <relay/runtime/strided.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

namespace relay {
namespace {

std::string tensor_text(ShapeView shape, DType dtype) {
  return "tensor of shape " + shape_text(shape) + " and dtype " + std::string(dtype.name());
}

size_t header_size(size_t rank) { return sizeof(NDArrayObject) + 2 * rank * sizeof(int64_t); }

// The number of elements, or -1 if an extent is negative, or -2 if int64 cannot hold it.
int64_t count_elements(ShapeView shape) {
  int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) return -1;
    empty |= extent == 0;
    overflow |= __builtin_mul_overflow(count, extent, &count);
  }
  if (empty) return 0;
  return overflow ? -2 : count;
}

void check_rank(size_t rank) {
  if (rank > NDArray::kMaxRank) {
    throw Error("a tensor of rank " + std::to_string(rank) + " is beyond the highest rank, " +
                std::to_string(NDArray::kMaxRank));
  }
}

// Bytes from the lowest to one past the highest element that strides reach, relative to the first.
struct Reach {
  __int128 lowest = 0;
  __int128 end = 0;
};

Reach reach(ShapeView shape, const int64_t* strides, DType dtype) {
  Reach r;
  __int128 width = static_cast<__int128>(dtype.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    __int128 far = static_cast<__int128>(shape[i] - 1) * strides[i];
    // Beyond any memory already; also keeps the products below inside 128 bits.
    far = std::clamp<__int128>(far, -(__int128{1} << 100), __int128{1} << 100);
    (far < 0 ? r.lowest : r.end) += far;
  }
  r.lowest *= width;
  r.end = (r.end + 1) * width;
  return r;
}

}  // namespace

void row_major_strides(ShapeView shape, int64_t* strides) {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // Only an empty array can overflow here, and its strides are never used.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[i], 1), &stride)) stride = 0;
  }
}

std::string shape_text(ShapeView shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  text += shape.size() == 1 ? ",)" : ")";
  return text;
}

int64_t element_count(ShapeView shape) {
  int64_t count = count_elements(shape);
  if (count == -1) throw Error("shape " + shape_text(shape) + " has a negative extent");
  if (count == -2) throw Error("shape " + shape_text(shape) + " has too many elements");
  return count;
}

void NDArrayObject::destroy() const noexcept {
  if (deleter_ != nullptr) deleter_(deleter_context_);
  const NDArrayObject* root = root_;
  refund_memory(charged_);
  // Elements that are charged and have no deleter stand behind the object.
  const bool owns = charged_ != 0 && base_ != nullptr && deleter_ == nullptr;
  pool_free_request(const_cast<NDArrayObject*>(this), owns ? charged_ : header_size(rank_));
  // A root never has a root, so this is the only further step.
  if (root != nullptr) root->release();
}

namespace {

[[noreturn]] void refuse_shape(ShapeView shape, int64_t count, DType dtype) {
  check_rank(shape.size());
  if (count == -1) throw Error(tensor_text(shape, dtype) + " has a negative extent");
  throw_out_of_memory(tensor_text(shape, dtype).c_str(), 0, true);
}

inline size_t bytes_of(ShapeView shape, int64_t count, DType dtype) {
  constexpr size_t kMost = size_t{1} << 57;  // addresses of x86-64
  if (shape.size() > NDArray::kMaxRank || count < 0 ||
      static_cast<size_t>(count) > kMost / dtype.size()) [[unlikely]]
    refuse_shape(shape, count, dtype);
  return static_cast<size_t>(count) * dtype.size();
}

}  // namespace

size_t NDArray::bytes_needed(ShapeView shape, DType dtype) {
  return bytes_of(shape, count_elements(shape), dtype);
}

void NDArray::refuse(ShapeView shape, DType dtype) {
  throw_out_of_memory(tensor_text(shape, dtype).c_str(), bytes_needed(shape, dtype));
}

NDArray NDArray::allocate(ShapeView shape, DType dtype, bool zero) {
  if (!dtype.valid()) throw Error("a tensor cannot be made without an element type");
  const int64_t count = count_elements(shape);
  const size_t bytes = bytes_of(shape, count, dtype);
  size_t header = header_size(shape.size());
  size_t total = bytes + header + kAlignment;
  if (!try_charge_memory(total)) throw_out_of_memory(tensor_text(shape, dtype).c_str(), bytes);
  void* memory = zero ? pool_allocate_zeros(total) : pool_allocate(total);
  if (memory == nullptr) {
    refund_memory(total);
    throw Error(tensor_text(shape, dtype) + " needs " + std::to_string(bytes) +
                " bytes, more than the system gives");
  }
  auto* object = new (memory) NDArrayObject();
  uintptr_t data = reinterpret_cast<uintptr_t>(memory) + header;
  object->data_ = reinterpret_cast<std::byte*>((data + kAlignment - 1) & ~(kAlignment - 1));
  object->base_ = object->data_;
  object->bytes_ = bytes;
  object->charged_ = total;
  object->dtype_ = dtype;
  object->rank_ = static_cast<uint8_t>(shape.size());
  object->size_ = count;
  int64_t* extents = object->extents();
  for (size_t i = 0; i < shape.size(); ++i) extents[i] = shape[i];
  row_major_strides(shape, object->strides());
  return adopt(object);
}

// The object is on the host, the elements are on the device.
NDArray NDArray::allocate_elsewhere(ShapeView shape, DType dtype, Device device) {
  if (!dtype.valid()) throw Error("a tensor cannot be made without an element type");
  if (!is_usable(device)) throw Error(unusable_text(device));
  size_t bytes = bytes_needed(shape, dtype);
  NDArray result = make_view(NDArray(), shape.size());
  NDArrayObject* object = result.object_.get();
  object->dtype_ = dtype;
  object->device_ = device;
  object->size_ = count_elements(shape);
  std::copy(shape.begin(), shape.end(), object->extents());
  row_major_strides(shape, object->strides());
  size_t total = bytes + kAlignment;
  if (!try_charge_memory(total)) throw_out_of_memory(tensor_text(shape, dtype).c_str(), bytes);
  object->charged_ = total;  // given back with the object from here on
  object->bytes_ = bytes;
  object->data_ = static_cast<std::byte*>(allocate_on(device, bytes));
  object->base_ = object->data_;
  if (object->data_ == nullptr) {
    std::string text = tensor_text(shape, dtype) + " needs " + std::to_string(bytes) + " bytes, ";
    size_t limit = device_memory(device).limit;
    throw Error(text + (limit == 0 ? "more than the system gives"
                                   : "more than is left of the " + std::to_string(limit) +
                                         " bytes of " + device.str()));
  }
  object->deleter_ = [](void* context) {
    auto* own = static_cast<NDArrayObject*>(context);
    free_on(own->device_, own->base_, own->bytes_);
  };
  object->deleter_context_ = object;
  return result;
}

NDArray NDArray::empty(ShapeView shape, DType dtype, Device device) {
  return device == kCpu ? allocate(shape, dtype, false) : allocate_elsewhere(shape, dtype, device);
}
NDArray NDArray::zeros(ShapeView shape, DType dtype) { return allocate(shape, dtype, true); }

NDArray NDArray::from_bytes(ShapeView shape, DType dtype, std::span<const std::byte> bytes,
                            Device device) {
  NDArray result = empty(shape, dtype, device);
  if (bytes.size() != result.byte_size()) {
    throw Error(tensor_text(shape, dtype) + " takes " + std::to_string(result.byte_size()) +
                " bytes, not " + std::to_string(bytes.size()));
  }
  if (!bytes.empty()) std::memcpy(result.raw(), bytes.data(), bytes.size());
  return result;
}

NDArray NDArray::scalar(DType dtype, double value) {
  NDArray result = empty(ShapeView(), dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *result.data<T>() = convert_element<T>(value);
  });
  return result;
}

NDArray NDArray::scalar_int(DType dtype, int64_t value) {
  NDArray result = empty(ShapeView(), dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *result.data<T>() = convert_element<T>(value);
  });
  return result;
}

NDArray NDArray::make_view(const NDArray& of, size_t rank) {
  check_rank(rank);
  size_t bytes = header_size(rank);
  void* memory = pool_allocate(bytes);
  if (memory == nullptr) throw Error("no memory left for a view of a tensor");
  auto* object = new (memory) NDArrayObject();
  object->rank_ = static_cast<uint8_t>(rank);
  if (of) {
    const NDArrayObject* parent = of.object_.get();
    object->dtype_ = parent->dtype_;
    object->device_ = parent->device_;
    object->data_ = parent->data_;
    object->root_ = parent->root_ != nullptr ? parent->root_ : parent;
    object->root_->retain();
  }
  return adopt(object);
}

void NDArray::finish_view() {
  object_->size_ = element_count(shape());
  int64_t dense = 1;
  bool contiguous = true;
  for (size_t i = rank(); i-- > 0;) {
    if (extent(i) == 1) continue;
    contiguous &= stride(i) == dense;
    // Overflows for an empty array only, which counts as contiguous anyway.
    if (__builtin_mul_overflow(dense, std::max<int64_t>(extent(i), 1), &dense)) break;
  }
  object_->contiguous_ = contiguous || object_->size_ == 0;
}

NDArray NDArray::wrap(void* data, ShapeView shape, const int64_t* strides, DType dtype,
                      void (*deleter)(void*), void* context, Device device) {
  // From here on the memory is given back whatever happens.
  auto give_back = [&](void*) {
    if (deleter != nullptr) deleter(context);
  };
  std::unique_ptr<void, decltype(give_back)> guard(&context, give_back);
  int64_t count = element_count(shape);
  if (!dtype.valid()) throw Error("foreign memory has no element type");
  if (data == nullptr && count > 0) throw Error(tensor_text(shape, dtype) + " has no memory");
  NDArray result = make_view(NDArray(), shape.size());
  NDArrayObject* object = result.object_.get();
  object->dtype_ = dtype;
  object->device_ = device;
  std::copy(shape.begin(), shape.end(), object->extents());
  if (strides != nullptr) {
    std::copy(strides, strides + shape.size(), object->strides());
  } else {
    row_major_strides(shape, object->strides());
  }
  object->data_ = static_cast<std::byte*>(data);
  object->base_ = object->data_;
  result.finish_view();
  if (count > 0) {
    Reach r = reach(shape, object->strides(), dtype);
    uintptr_t address = reinterpret_cast<uintptr_t>(data);
    if (r.lowest < -static_cast<__int128>(address) ||
        r.end > std::numeric_limits<int64_t>::max() - r.lowest)
      throw Error(tensor_text(shape, dtype) + " has strides beyond any memory");
    object->base_ = object->data_ + static_cast<int64_t>(r.lowest);
    object->bytes_ = static_cast<size_t>(r.end - r.lowest);
    if (address % dtype.size() != 0) {
      // Elements are read as typed values, so they must be aligned.
      NDArray aligned = result.copy();
      return aligned;
    }
  }
  guard.release();  // NOLINT(bugprone-unused-return-value): the array owns it now
  object->deleter_ = deleter;
  object->deleter_context_ = context;
  return result;
}

size_t NDArray::byte_offset() const {
  const NDArrayObject* root = object_->root_ != nullptr ? object_->root_ : object_.get();
  return static_cast<size_t>(object_->data_ - root->base_);
}

size_t NDArray::memory_bytes() const {
  const NDArrayObject* root = object_->root_ == nullptr ? object_.get() : object_->root_;
  return root->bytes_;
}

bool NDArray::is_uniform() const {
  if (is_contiguous()) return false;
  for (size_t i = 0; i < rank(); ++i) {
    if (stride(i) != 0 && extent(i) != 1) return false;
  }
  return true;
}

bool NDArray::unique() const {
  const NDArrayObject* object = object_.get();
  for (size_t i = 0; !object->contiguous_ && i < rank(); ++i) {
    if (stride(i) == 0 && extent(i) > 1) return false;  // an element is several
  }
  if (object->refs_.load(std::memory_order_acquire) != 1) return false;
  const NDArrayObject* root = object->root_;
  // Foreign memory, for which nothing was charged, also belongs to its owner.
  auto ours = [](const NDArrayObject* owner) {
    return owner->charged_ != 0 || is_handed_over(owner->deleter_);
  };
  if (root == nullptr) return ours(object);
  return root->refs_.load(std::memory_order_acquire) == 1 && ours(root);
}

void NDArray::throw_wrong_type(DType asked) const {
  internal_error(__FILE__, __LINE__, "data",
                 tensor_text(shape(), dtype()) + " was read as " + std::string(asked.name()));
}

NDArray NDArray::view(ShapeView shape, ShapeView strides, int64_t offset) const {
  RELAY_CHECK(shape.size() == strides.size(), "a view needs a stride for each extent");
  NDArray result = make_view(*this, shape.size());
  NDArrayObject* object = result.object_.get();
  std::copy(shape.begin(), shape.end(), object->extents());
  std::copy(strides.begin(), strides.end(), object->strides());
  result.finish_view();
  if (object->size_ == 0) return result;
  const NDArrayObject* root = object->root_;
  Reach r = reach(shape, strides.data(), dtype());
  __int128 start = (object_->data_ - root->base_) +
                   static_cast<__int128>(offset) * static_cast<__int128>(dtype().size());
  if (start + r.lowest < 0 || start + r.end > static_cast<__int128>(root->bytes_))
    throw Error("a view of shape " + shape_text(shape) + " reaches outside of the " +
                tensor_text(this->shape(), dtype()));
  object->data_ += offset * static_cast<int64_t>(dtype().size());
  return result;
}

NDArray NDArray::reshape(ShapeView shape) const {
  if (element_count(shape) != size()) {
    throw Error("a tensor of shape " + shape_text(this->shape()) + " cannot be reshaped to " +
                shape_text(shape));
  }
  if (is_uniform()) return uniform(*this, shape);
  NDArray dense = contiguous();
  NDArray result = make_view(dense, shape.size());
  std::copy(shape.begin(), shape.end(), result.object_->extents());
  row_major_strides(shape, result.object_->strides());
  result.object_->size_ = size();
  return result;
}

NDArray NDArray::transpose(std::span<const size_t> axes) const {
  bool good = axes.size() == rank();
  uint64_t seen = 0;
  for (size_t axis : axes) {
    good = good && axis < rank() && (seen >> axis & 1) == 0;
    if (good) seen |= uint64_t{1} << axis;
  }
  RELAY_CHECK(good, "the axes of a transposition are a permutation");
  NDArray result = make_view(*this, rank());
  for (size_t i = 0; i < axes.size(); ++i) {
    result.object_->extents()[i] = extent(axes[i]);
    result.object_->strides()[i] = stride(axes[i]);
  }
  result.finish_view();
  return result;
}

NDArray NDArray::transpose() const {
  size_t axes[kMaxRank];
  for (size_t i = 0; i < rank(); ++i) axes[i] = rank() - 1 - i;
  return transpose(std::span<const size_t>(axes, rank()));
}

NDArray NDArray::slice(size_t axis, int64_t begin, int64_t count, int64_t step) const {
  RELAY_CHECK(axis < rank() && count >= 0, "a slice is along an axis");
  NDArray result = make_view(*this, rank());
  std::copy(shape().begin(), shape().end(), result.object_->extents());
  std::copy(strides().begin(), strides().end(), result.object_->strides());
  result.object_->extents()[axis] = count;
  if (count > 0) {
    __int128 last = begin + static_cast<__int128>(count - 1) * step;
    if (begin < 0 || begin >= extent(axis) || last < 0 || last >= extent(axis))
      throw Error("a slice reaches outside of the " + tensor_text(shape(), dtype()));
    result.object_->data_ += begin * stride(axis) * static_cast<int64_t>(dtype().size());
    // With one element the step is without effect and could overflow.
    result.object_->strides()[axis] = count == 1 ? stride(axis) : stride(axis) * step;
  }
  result.finish_view();
  return result;
}

NDArray NDArray::broadcast_to(ShapeView shape) const {
  bool good = shape.size() >= rank();
  check_rank(shape.size());
  size_t added = good ? shape.size() - rank() : 0;
  for (size_t i = 0; good && i < rank(); ++i)
    good = extent(i) == shape[i + added] || extent(i) == 1;
  if (!good) {
    throw Error("a tensor of shape " + shape_text(this->shape()) + " cannot be broadcast to " +
                shape_text(shape));
  }
  NDArray result = make_view(*this, shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    result.object_->extents()[i] = shape[i];
    bool stretched = i < added || extent(i - added) != shape[i];
    result.object_->strides()[i] = stretched ? 0 : stride(i - added);
  }
  result.finish_view();
  return result;
}

NDArray NDArray::uniform(const NDArray& element, ShapeView shape) {
  RELAY_CHECK(element.size() == 1 || element.is_uniform(), "an element to repeat");
  bytes_needed(shape, element.dtype());
  NDArray result = make_view(element, shape.size());
  std::copy(shape.begin(), shape.end(), result.object_->extents());
  std::fill_n(result.object_->strides(), shape.size(), 0);
  result.finish_view();
  // A dense tensor has the strides of one.
  if (result.is_contiguous()) row_major_strides(shape, result.object_->strides());
  return result;
}

NDArray NDArray::contiguous() const { return is_contiguous() ? *this : copy(); }

NDArray NDArray::copy() const {
  NDArray result = empty(shape(), dtype(), device());
  copy_row_major(*this, static_cast<std::byte*>(result.raw()));
  return result;
}

NDArray NDArray::on(Device device) const {
  if (device == this->device()) return *this;
  if (is_uniform()) return uniform(uniform(*this, {}).on(device), shape());
  NDArray result = empty(shape(), dtype(), device);
  ElementReader(*this).read(result.raw(), size());
  return result;
}

void NDArray::assign(const NDArray& source) const {
  RELAY_CHECK(dtype() == source.dtype() && std::ranges::equal(shape(), source.shape()),
              "assigned tensors agree in type");
  if (size() == 0) return;
  if (is_contiguous()) {
    if (raw() == source.raw() && source.is_contiguous()) return;
    ElementReader(source).read(raw(), size());
    return;
  }
  // Row by row along the last axis.
  size_t width = dtype().size();
  size_t inner = rank() - 1;
  int64_t index[kMaxRank] = {};
  std::byte* to = object_->data_;
  const std::byte* from = source.object_->data_;
  while (true) {
    copy_elements(to, stride(inner) * static_cast<int64_t>(width), from,
                  source.stride(inner) * static_cast<int64_t>(width), extent(inner), width);
    size_t axis = inner;
    while (axis > 0) {
      --axis;
      to += stride(axis) * static_cast<int64_t>(width);
      from += source.stride(axis) * static_cast<int64_t>(width);
      if (++index[axis] < extent(axis)) break;
      index[axis] = 0;
      to -= stride(axis) * extent(axis) * static_cast<int64_t>(width);
      from -= source.stride(axis) * extent(axis) * static_cast<int64_t>(width);
      if (axis == 0) return;
    }
    if (inner == 0) return;
  }
}

NDArray NDArray::cast(DType to) const {
  if (to == dtype()) return *this;
  if (is_uniform()) return uniform(uniform(*this, {}).cast(to), shape());
  NDArray source = contiguous();
  NDArray result = empty(shape(), to, device());
  dispatch(dtype(), [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    const From* in = source.data<const From>();
    dispatch(to, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      To* out = result.data<To>();
      for (int64_t i = 0; i < source.size(); ++i) out[i] = convert_element<To>(in[i]);
    });
  });
  return result;
}

const void* NDArray::element(int64_t position) const {
  RELAY_CHECK(position >= 0 && position < size(), "an element of the tensor");
  int64_t offset = position;
  if (!is_contiguous()) {
    offset = 0;
    for (size_t i = rank(); i-- > 0;) {
      offset += position % extent(i) * stride(i);
      position /= extent(i);
    }
  }
  return object_->data_ + offset * static_cast<int64_t>(dtype().size());
}

double NDArray::element_as_double(int64_t position) const {
  const void* at = element(position);
  return dispatch(dtype(), [&](auto tag) {
    return convert_element<double>(*static_cast<const typename decltype(tag)::type*>(at));
  });
}

int64_t NDArray::element_as_int64(int64_t position) const {
  const void* at = element(position);
  return dispatch(dtype(), [&](auto tag) {
    return convert_element<int64_t>(*static_cast<const typename decltype(tag)::type*>(at));
  });
}

namespace {
void check_single(const NDArray& array) {
  if (array.size() == 1) return;
  throw Error("a tensor of shape " + shape_text(array.shape()) + " is not a single number");
}
}  // namespace

double NDArray::item_as_double() const {
  check_single(*this);
  return element_as_double(0);
}

int64_t NDArray::item_as_int64() const {
  check_single(*this);
  return element_as_int64(0);
}

}  // namespace relay
