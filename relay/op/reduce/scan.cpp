// Running sums and products.
#include <relay/op/op.h>
#include <relay/op/reduce/reduce_attrs.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

TypeRef infer_scan(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<ScanopAttrs>();
  DType dtype = attrs.dtype.value_or(data.dtype);
  call.require(dtype.is_numeric(), "needs a number dtype, found " + std::string(dtype.name()) +
                                       "; give one with dtype=");
  if (attrs.axis) {
    normalize_axis(call, *attrs.axis, data.rank());
    return TensorType::make(data.dims, dtype);
  }
  Dim flat[] = {product(data.dims)};
  return TensorType::make(flat, dtype);
}

void compute_scan(const OpCall& call, te::Builder& b, bool is_sum) {
  const auto& attrs = call.attrs<ScanopAttrs>();
  te::TensorInfo result = call.result();
  te::Tensor data = b.input(0);
  if (!attrs.axis) data = b.reshape(data, result.dims);
  size_t axis = axis_position(attrs.axis.value_or(0), result.rank());
  b.output(b.scan(
      result.dims, static_cast<uint32_t>(axis),
      [&](Indices) -> std::vector<Scalar> { return {te::constant(is_sum ? 0 : 1, result.dtype)}; },
      [&](Indices i, std::span<const Scalar> carry) -> std::vector<Scalar> {
        Scalar x = te::cast(data(i), result.dtype);
        return {is_sum ? carry[0] + x : carry[0] * x};
      },
      attrs.reverse, attrs.exclusive.value_or(false))[0]);
}

// A running sum from the other end.
std::vector<ExprRef> cumsum_gradient(const GradientCall& call) {
  DType dtype = call.call.tensor(0).dtype;
  if (!dtype.is_float()) return {ExprRef()};
  ScanopAttrs attrs = call.attrs<ScanopAttrs>();
  bool flat = !attrs.axis;
  attrs.axis = attrs.axis.value_or(0);
  attrs.dtype.reset();
  ReverseAttrs ends;
  ends.axis = attrs.axis;
  ExprRef sum = call_op("reverse", {call.gradient()}, Attrs::make(ends));
  sum = call_op("cumsum", {sum}, Attrs::make(attrs));
  sum = call_op("reverse", {sum}, Attrs::make(ends));
  if (flat) sum = call_op("reshape_like", {sum, call.args[0]});
  if (call.call.result().dtype == dtype) return {sum};
  CastAttrs back;
  back.dtype.value = dtype;
  return {call_op("cast", {sum}, Attrs::make(back))};
}

RELAY_OP("cumsum")
    .doc("Running sum along an axis; integers wrap.")
    .input("data", "Tensor of any shape.", tensor())
    .output("result", "Tensor of the data's shape, of the dtype that is summed in.",
            tensor(kNumbers))
    .attrs<ScanopAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { cumsum(%x, axis=0) }", "[1, 2, 3]")
    .relation(infer_scan)
    .level(3)
    .compute([](const OpCall& call, te::Builder& b) { compute_scan(call, b, true); })
    .gradient(cumsum_gradient);

RELAY_OP("cumprod")
    .doc("Running product along an axis; integers wrap.")
    .input("data", "Tensor of any shape.", tensor())
    .output("result", "Tensor of the data's shape, of the dtype that is multiplied in.",
            tensor(kNumbers))
    .attrs<ScanopAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { cumprod(%x, axis=0, exclusive=True) }", "[2, 3, 4]")
    .relation(infer_scan)
    .level(3)
    .compute([](const OpCall& call, te::Builder& b) { compute_scan(call, b, false); });

}  // namespace
}  // namespace relay
