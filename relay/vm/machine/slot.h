// A register as two words, so that numbers move without calls or counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <relay/runtime/value.h>

namespace relay::vm {

/// The memory of a `Value`: `head` holds kind, whether it is counted, dtype and tag; `bits` the
/// number or pointer. `check_slot_layout` compares this with real values.
struct [[gnu::may_alias]] Slot {
  uint64_t head;
  uint64_t bits;

  static constexpr uint64_t kCounted = 0xff00;
  bool counted() const { return (head & kCounted) != 0; }
  Value::Kind kind() const { return static_cast<Value::Kind>(head & 0xff); }
  Value& value() { return *reinterpret_cast<Value*>(this); }
  const Value& value() const { return *reinterpret_cast<const Value*>(this); }
};
static_assert(sizeof(Slot) == sizeof(Value) && alignof(Slot) == alignof(Value));

inline Slot& slot_of(Value& value) { return reinterpret_cast<Slot&>(value); }

/// The register at that many bytes.
inline Slot& slot_at(char* registers, uint32_t offset) {
  return *reinterpret_cast<Slot*>(registers + offset);
}

/// The head of a number of that type.
constexpr uint64_t scalar_head(DType dtype) {
  return static_cast<uint64_t>(Value::Kind::kScalar) | static_cast<uint64_t>(dtype.code) << 16 |
         static_cast<uint64_t>(dtype.bits) << 24;
}

inline void retain_slot(const Slot& slot) {
  if (slot.kind() == Value::Kind::kTensor) {
    reinterpret_cast<const NDArrayObject*>(slot.bits)->retain();
  } else {
    reinterpret_cast<const Object*>(slot.bits)->retain();
  }
}

/// Releases the value of a counted slot; the slot keeps its words.
inline void release_slot(const Slot& slot) {
  if (slot.kind() == Value::Kind::kTensor) {
    reinterpret_cast<const NDArrayObject*>(slot.bits)->release();
  } else {
    reinterpret_cast<const Object*>(slot.bits)->release();
  }
}

/// Empties a slot.
inline void clear_slot(Slot& slot) {
  if (slot.counted()) {
    Slot old = slot;
    slot.head = 0;
    release_slot(old);
  }
}

/// Replaces the value of `to` by the number.
inline void set_number(Slot& to, uint64_t head, uint64_t bits) {
  if (to.counted()) [[unlikely]] {
    Slot old = to;
    to.head = 0;
    release_slot(old);
  }
  to.head = head;
  to.bits = bits;
}

/// Replaces the value of `to` by a share of that of `from`.
inline void copy_slot(Slot& to, const Slot& from) {
  Slot value = from;
  if (value.counted()) retain_slot(value);
  Slot old = to;
  to = value;
  if (old.counted()) [[unlikely]]
    release_slot(old);
}

/// Moves the value of `from` into `to`.
inline void move_slot(Slot& to, Slot& from) {
  Slot value = from;
  from.head = 0;
  Slot old = to;
  to = value;
  if (old.counted()) [[unlikely]]
    release_slot(old);
}

/// The tensor in a value that holds one, without a share of its own.
class Borrowed {
 public:
  explicit Borrowed(const Value& value)
      : array_(NDArray::adopt(
            reinterpret_cast<NDArrayObject*>(reinterpret_cast<const Slot&>(value).bits))) {}
  ~Borrowed() { std::move(array_).detach(); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  const NDArray& operator*() const { return array_; }
  const NDArray* operator->() const { return &array_; }

 private:
  NDArray array_;
};

/// True for equal extents.
inline bool same_shape(ShapeView a, ShapeView b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Throws InternalError if values have another layout.
void check_slot_layout();

}  // namespace relay::vm
