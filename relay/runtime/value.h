// The values that a program computes with.
#pragma once

#include <relay/runtime/dtype.h>
#include <relay/runtime/ndarray.h>
#include <relay/support/name.h>
#include <relay/support/ref.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace relay {

class Value;

/// The run time's description of a constructor of a data type. Interned and never freed: equal ones
/// are the same pointer, and a value may outlive the module that made it.
struct ConstructorInfo {
  Name name;
  Name type_name;
  int32_t tag;  // position among the constructors of its type
  uint32_t arity;

  static const ConstructorInfo* intern(Name name, Name type_name, int32_t tag, uint32_t arity);
};

/// A counted object of the heap. The last release destroys it without recursion: objects that die
/// meanwhile wait in a thread-local list. Cycles through references are never freed.
class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  bool unique() const noexcept { return refs_.load(std::memory_order_acquire) == 1; }

  // Accounted for (see memory.h); throws Error if the limit is reached.
  static void* operator new(size_t size) { return allocate(size); }
  static void* operator new(size_t size, size_t more) { return allocate(size + more); }
  static void operator delete(void* memory) noexcept { deallocate(memory); }
  static void operator delete(void* memory, size_t) noexcept { deallocate(memory); }

 protected:
  Object() = default;
  virtual ~Object() = default;

 private:
  friend class Value;
  static void* allocate(size_t size);
  static void deallocate(void* memory) noexcept;
  void destroy() const noexcept;

  mutable std::atomic<uint32_t> refs_{1};

 protected:
  uint32_t count_ = 0;  // fields of a tuple or data value
  union {
    const ConstructorInfo* constructor_ = nullptr;
    const Object* next_dead_;
  };
};

/// A function value. Executors derive their own from it and keep the captured values as `Value`s.
class Closure : public Object {
 public:
  /// The executor that the closure belongs to, compared by address: `static const char kKind` of
  /// the deriving class.
  const void* kind() const { return kind_; }

 protected:
  explicit Closure(const void* kind) : kind_(kind) {}

 private:
  const void* kind_;
};

/// A value, 16 bytes: a number, tensor, tuple, data value, closure or reference; or nothing.
///
/// Rank-0 tensors are always held unboxed (`is_scalar`), so each has one representation. Copying
/// counts a reference and allocates nothing. A reference cell is for one thread at a time;
/// everything else is immutable, and threads may share it.
class Value {
 public:
  enum class Kind : uint8_t { kNone, kScalar, kTensor, kTuple, kData, kClosure, kReference };

  constexpr Value() noexcept = default;
  Value(const Value& other) noexcept
      : kind_(other.kind_),
        counted_(other.counted_),
        dtype_(other.dtype_),
        tag_(other.tag_),
        payload_(other.payload_) {
    retain();
  }
  Value(Value&& other) noexcept
      : kind_(other.kind_),
        counted_(other.counted_),
        dtype_(other.dtype_),
        tag_(other.tag_),
        payload_(other.payload_) {
    other.forget();
  }
  Value& operator=(const Value& other) noexcept {
    Value copy(other);
    swap(copy);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    Value moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Value() {
    if (counted_) release();
  }
  void swap(Value& other) noexcept;

  // Numbers.

  /// A number of the dtype that stores `T`: `Value::scalar(1.5f)`, `Value::scalar(true)`.
  template <class T>
  static Value scalar(T value) noexcept {
    return scalar_bytes(dtype_of<T>(), &value);
  }
  /// The element of type `dtype` at `bytes`.
  static Value scalar_bytes(DType dtype, const void* bytes) noexcept {
    Value v;
    v.kind_ = Kind::kScalar;
    v.dtype_ = dtype;
    v.payload_.bits = 0;
    std::memcpy(&v.payload_.bits, bytes, dtype.size());
    return v;
  }
  /// `value` converted to `dtype` as `convert_element` does.
  static Value scalar_of(DType dtype, double value);
  static Value scalar_of(DType dtype, int64_t value);

  // Tensors.

  /// A tensor; of rank 0, a number.
  Value(NDArray array);  // NOLINT(google-explicit-constructor)

  // Everything else. Fields are moved from the span.

  static Value tuple(std::span<Value> fields);
  static Value tuple(std::vector<Value> fields) { return tuple(std::span(fields)); }
  static Value data(const ConstructorInfo* constructor, std::span<Value> fields);
  static Value data(const ConstructorInfo* constructor, std::vector<Value> fields) {
    return data(constructor, std::span(fields));
  }
  /// A constructor without fields.
  static Value data(const ConstructorInfo* constructor) {
    return data(constructor, std::span<Value>());
  }
  /// The empty tuple.
  static Value unit() { return tuple(std::span<Value>()); }
  static Value closure(Ref<Closure> closure);
  /// A new mutable cell.
  static Value reference(Value initial);

  // The kind of the value.

  Kind kind() const { return kind_; }
  explicit operator bool() const { return kind_ != Kind::kNone; }
  bool is_scalar() const { return kind_ == Kind::kScalar; }
  /// A tensor of any rank, a number among them.
  bool is_tensor() const { return kind_ == Kind::kScalar || kind_ == Kind::kTensor; }
  bool is_tuple() const { return kind_ == Kind::kTuple; }
  bool is_data() const { return kind_ == Kind::kData; }
  bool is_closure() const { return kind_ == Kind::kClosure; }
  bool is_reference() const { return kind_ == Kind::kReference; }

  // The contents of the value. Asking a value of another kind is an InternalError.

  /// For a number or tensor.
  DType dtype() const;
  /// For a number or tensor.
  ShapeView shape() const;
  /// The device of a tensor; numbers belong to no device and give cpu(0).
  Device device() const { return kind_ == Kind::kTensor ? payload_.array->device_ : kCpu; }
  /// The number as storage type `T`, which must be exact.
  template <class T>
  T as() const {
    if (kind_ != Kind::kScalar || dtype_ != dtype_of<T>()) throw_wrong_kind("a number");
    T value;
    std::memcpy(&value, &payload_.bits, sizeof value);
    return value;
  }
  /// The bytes of a number, as in memory.
  const void* scalar_data() const {
    if (kind_ != Kind::kScalar) throw_wrong_kind("a number");
    return &payload_.bits;
  }
  /// A number, or a tensor of one element, converted.
  double as_double() const;
  int64_t as_int64() const;
  /// For a number: true if it is not zero.
  bool as_bool() const;
  /// A number or tensor as an array (for a number, a fresh one).
  NDArray array() const;
  /// The fields of a tuple or data value.
  std::span<const Value> fields() const;
  const Value& field(size_t index) const { return fields()[index]; }
  const ConstructorInfo* constructor() const;
  /// The tag of a data value's constructor.
  int32_t tag() const {
    if (kind_ != Kind::kData) throw_wrong_kind("a data value");
    return tag_;
  }
  Closure* closure() const;
  /// The value in a reference cell.
  const Value& get() const;
  void set(Value value) const;
  /// True if two references (closures, tuples, …) are the same object.
  bool same(const Value& other) const {
    return kind_ == other.kind_ && dtype_ == other.dtype_ && payload_.bits == other.payload_.bits;
  }
  /// The fields, which the caller may move out, if no other handle refers to the tuple or data
  /// value; else empty.
  std::span<Value> unique_fields();

 private:
  struct CellObject;
  struct FieldsObject;

  void retain() const noexcept {
    if (!counted_) return;
    if (kind_ == Kind::kTensor) {
      payload_.array->retain();
    } else {
      payload_.object->retain();
    }
  }
  void release() const noexcept {
    if (kind_ == Kind::kTensor) {
      payload_.array->release();
    } else {
      payload_.object->release();
    }
  }
  void forget() noexcept {
    kind_ = Kind::kNone;
    counted_ = false;
    dtype_ = {};
    payload_.bits = 0;
  }
  [[noreturn]] void throw_wrong_kind(const char* wanted) const;
  static Value with_fields(Kind kind, const ConstructorInfo* constructor, std::span<Value> fields);

  Kind kind_ = Kind::kNone;
  bool counted_ = false;  // true if the payload is a counted pointer
  DType dtype_;
  int32_t tag_ = 0;
  union Payload {
    uint64_t bits;
    NDArrayObject* array;
    Object* object;
    const ConstructorInfo* constructor;  // of a data value without fields
  } payload_ = {0};
};
static_assert(sizeof(Value) == 16);

/// The name of a kind for messages: "a tensor", "a closure", ….
const char* kind_name(Value::Kind kind);

/// True if two values are equal to the bit: numbers, tensors, tuples and data values by content,
/// references by their contents (the same cells visited once), closures by identity. Iterative.
bool bit_equal(const Value& a, const Value& b);

}  // namespace relay
