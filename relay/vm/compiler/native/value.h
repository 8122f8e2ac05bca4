// Values while a function is written as one kernel: their structure is known, their numbers are
// registers of the kernel.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <relay/ir/type.h>
#include <relay/tensor_expr/computation.h>

namespace relay::vm::native {

/// Thrown where a function has no such form; the machine then runs it instruction by instruction.
struct NotNative {
  const char* why;
};

struct Value;
using ValueRef = std::shared_ptr<const Value>;

/// A tensor of known shape, a tuple, a closure of a known function, or a data value: one of a known
/// constructor has its fields; any other is a number (data_types.h), as if it were a tensor.
struct Value {
  enum class Kind : uint8_t { kTensor, kTuple, kClosure, kMade };
  Kind kind = Kind::kTensor;
  // A tensor: its elements in row-major order, or where they lie from `offset` on.
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<te::ScalarRef> elements;
  int32_t buffer = -1;
  int64_t offset = 0;
  // The type of a data value, and its constructor. A number has one where a match has found it.
  TypeRef data;
  int32_t tag = -1;
  // The fields of a tuple or data value, or what a closure captures.
  std::vector<ValueRef> fields;
  uint32_t function = 0;  // of a closure
  uint32_t position = 0;  // of the constructor's call

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_data() const { return data.get() != nullptr; }
  int64_t size() const {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    return count;
  }
};

ValueRef tuple_of(std::vector<ValueRef> fields);
ValueRef number_of(te::ScalarRef element);

/// A data value that is that number.
ValueRef data_of(const TypeRef& type, te::ScalarRef number);

/// Calls `visit` on the tensors in a value, left to right.
void for_each_tensor(const ValueRef& value, const std::function<void(const ValueRef&)>& visit);
/// The value with each of its tensors replaced.
ValueRef with_tensors(const ValueRef& value,
                      const std::function<ValueRef(const ValueRef&)>& replacement);
/// True if the values have tensors of the same types at the same places of the same structure.
bool alike(const ValueRef& a, const ValueRef& b);
/// A structure that both values can be given: of data values of differing constructors, it has the
/// numbers. Throws NotNative if there is none.
ValueRef common(const ValueRef& a, const ValueRef& b);
/// True if two tensors are known to have the same elements.
bool same(const Value& a, const Value& b);

/// A tensor with more elements than this stays in memory.
inline constexpr int64_t kMostElements = 16;

}  // namespace relay::vm::native
