// Element types of ONNX that Relay has no dtype for: integers of 2 and 4 bits, floats of 4 and 8.
// Tensors of them have a wider dtype in the program, in which each of their numbers is exact.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <relay/import/onnx/context.h>
#include <relay/runtime/ndarray.h>

namespace relay::onnx {

struct NarrowType {
  int64_t number;  // of TensorProto.DataType
  DType dtype;     // that carries it
  int bits;        // of an element in a model
  // For floats: how many bits of the fraction, and what the exponent is counted from.
  int fraction = 0;
  int bias = 0;
  double greatest = 0;
  bool infinite = false;     // the highest exponent stands for infinities and not-a-number
  bool signed_zero = true;   // else the bits of -0 are the only not-a-number
  bool not_a_number = true;  // some bits stand for it
  bool powers = false;       // there are exponents alone: powers of two, without a sign

  bool is_float() const { return dtype.is_float(); }
};

/// The type of a number of TensorProto.DataType, or null.
const NarrowType* narrow_type(int64_t number);
/// The dtype of tensors of a type in the program: Relay's own, or that which carries a narrow one.
std::optional<DType> program_dtype(int64_t number);

/// How many bytes so many elements have in a model: narrow ones lie together, lowest bits first.
size_t narrow_bytes(const NarrowType& type, int64_t elements);
/// The elements in these bytes, which are as many as `narrow_bytes` says.
NDArray unpacked_narrow(const NarrowType& type, std::span<const std::byte> bytes, ShapeView shape);

/// Numbers as those of a narrow type. Floats are rounded to the nearest, halves to the even one;
/// what is beyond the greatest becomes that (`saturate`), or infinite or not-a-number. Integers
/// take the low bits of what is left without a fraction. `round_mode` is "up", "down" or "nearest",
/// for powers of two.
GraphValue as_narrow_type(NodeContext& node, const GraphValue& x, const NarrowType& type,
                          bool saturate, const std::string& round_mode = "up");

/// Says of the results of a node that moves elements that they are of the narrow type of its
/// inputs.
void keep_narrow_types(const Scope& scope, const Node& node, std::vector<GraphValue>& results);

}  // namespace relay::onnx
