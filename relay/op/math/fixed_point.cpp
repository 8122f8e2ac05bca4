// Multiplication of integers by factors in fixed point, for each place along axes.
#include <relay/op/op.h>

namespace relay {
namespace {

using te::BinaryOp;
using te::Indices;
using te::Scalar;

struct FixedPointMultiplyPerAxisAttrs {
  bool is_lshift_required = false;
  bool is_rshift_required = false;
  Required<attr::Axes> axes;
  RELAY_ATTRS(FixedPointMultiplyPerAxisAttrs,
              (is_lshift_required, "True if left_shift is read; else it counts as 0."),
              (is_rshift_required, "True if right_shift is read; else it counts as 0."),
              (axes, "The data's axes that the axes of the other inputs are."))
};

constexpr const char* kNames[] = {"data", "fp_multiplier", "left_shift", "right_shift"};

TypeRef infer(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const std::vector<int64_t>& axes = *call.attrs<FixedPointMultiplyPerAxisAttrs>().axes;
  std::vector<Dim> wanted;
  for (int64_t axis : axes)
    wanted.push_back(
        data.dims[static_cast<size_t>(normalize_axis(call, axis, data.rank(), "axes entry"))]);
  for (size_t k = 1; k < 4; ++k) {
    te::TensorInfo info = call.tensor(k);
    std::string message = std::string(kNames[k]) + " must be " + shape_str(wanted) +
                          " as the axes of data " + shape_str(data.dims) + ", found " +
                          shape_str(info.dims);
    call.require(info.rank() == wanted.size(), message);
    for (size_t d = 0; d < wanted.size(); ++d) call.require_equal(info.dims[d], wanted[d], message);
  }
  return call.input(0);
}

// ((x << left) · multiplier + half) >> (31 + right) in 64 bits: halves go up.
void compute(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<FixedPointMultiplyPerAxisAttrs>();
  te::Tensor data = b.input(0);
  b.output(b.map(data.dims(), [&](Indices i) {
    std::vector<Scalar> at;
    for (int64_t axis : *attrs.axes) at.push_back(i[axis_position(axis, i.size())]);
    auto factor = [&](size_t input) { return te::cast(b.input(input)(at), kInt64); };
    Scalar x = te::cast(data(i), kInt64);
    if (attrs.is_lshift_required) x = te::binary(BinaryOp::kShl, x, factor(2));
    Scalar shift = te::index_constant(30);
    if (attrs.is_rshift_required) shift = shift + factor(3);
    Scalar half = te::binary(BinaryOp::kShl, te::index_constant(1), shift);
    Scalar sum = x * factor(1) + half;
    return te::cast(te::binary(BinaryOp::kShr, sum, shift + 1), kInt32);
  }));
}

RELAY_OP("fixed_point_multiply_per_axis")
    .doc(
        "Product with fp_multiplier / 2^31 * 2^(left_shift - right_shift), which are given for "
        "each place along some axes; rounded half up, in 64 bits, of which the lower 32 stay.")
    .input("data", "Integers.", tensor(kInt32))
    .input("fp_multiplier", "Multipliers in Q31: value / 2^31.", tensor(kInt32))
    .input("left_shift", "Binary places up, before the product.", tensor(kInt32))
    .input("right_shift", "Binary places down, after the product.", tensor(kInt32))
    .output("result", "Integers.", tensor(kInt32))
    .attrs<FixedPointMultiplyPerAxisAttrs>()
    .relation(infer)
    .example(
        "fn (%x: Tensor[(2, 2), int32], %m: Tensor[(2), int32], %l: Tensor[(2), int32], %r: "
        "Tensor[(2), int32]) { fixed_point_multiply_per_axis(%x, %m, %l, %r, "
        "is_rshift_required=True, axes=[1]) }",
        "[[898, 688], [667, -48]]", "[1073741824, 1431655765]", "[0, 0]", "[0, 1]")
    .level(10)
    .compute(compute);

}  // namespace
}  // namespace relay
