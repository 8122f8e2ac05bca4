// Elementwise operators with attributes or three operands: conversions, clipping, choice.
#include <cmath>
#include <limits>

#include <relay/op/math/elementwise.h>
#include <relay/op/qnn/integer_forms.h>
#include <relay/op/registry/columns.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

TypeRef infer_cast(const RelationCall& call) {
  return TensorType::make(call.tensor(0).dims, call.attrs<CastAttrs>().dtype);
}
TypeRef infer_cast_like(const RelationCall& call) {
  return TensorType::make(call.tensor(0).dims, call.tensor(1).dtype);
}
TypeRef infer_reinterpret(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  DType dtype = call.attrs<CastAttrs>().dtype;
  call.require(
      data.dtype.size() == dtype.size() && !dtype.is_bool() && !data.dtype.is_bool(),
      "cannot read the bits of " + call.input(0)->str() + " as " + std::string(dtype.name()));
  return TensorType::make(data.dims, dtype);
}

void compute_cast(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::TensorInfo result = call.result();
  b.output(b.map(result.dims, [&](Indices i) { return te::cast(data(i), result.dtype); }));
}
void compute_reinterpret(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::TensorInfo result = call.result();
  b.output(b.map(result.dims, [&](Indices i) { return te::bitcast(data(i), result.dtype); }));
}

TypeRef infer_clip(const RelationCall& call) {
  const auto& attrs = call.attrs<ClipAttrs>();
  call.require(!std::isnan(*attrs.a_min) && !std::isnan(*attrs.a_max), "a bound is not a number");
  return call.input(0);
}

// A bound in the data's dtype. Fractions of integer bounds are dropped; a bound beyond the dtype's
// range becomes its end.
Scalar clip_bound(double bound, DType dtype) {
  if (dtype.is_float()) return te::constant(bound, dtype);
  double truncated = std::trunc(bound);
  return dispatch(dtype, [&](auto tag) -> Scalar {
    using T = ComputeType<typename decltype(tag)::type>;
    if (truncated <= static_cast<double>(std::numeric_limits<T>::lowest()))
      return te::lowest(dtype);
    if (truncated >= static_cast<double>(std::numeric_limits<T>::max())) return te::highest(dtype);
    return te::constant(static_cast<int64_t>(truncated), dtype);
  });
}

void compute_clip(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<ClipAttrs>();
  te::Tensor data = b.input(0);
  b.output(b.map(call.result().dims, [&](Indices i) {
    Scalar below = te::min(data(i), clip_bound(attrs.a_max, data.dtype()));
    return te::max(below, clip_bound(attrs.a_min, data.dtype()));
  }));
}

TypeRef infer_where(const RelationCall& call) {
  te::TensorInfo condition = call.tensor(0);
  te::TensorInfo x = call.tensor(1);
  te::TensorInfo y = call.tensor(2);
  std::string message = "shapes " + shape_str(condition.dims) + ", " + shape_str(x.dims) + " and " +
                        shape_str(y.dims) + " do not broadcast";
  auto branches = broadcast_shapes(x.dims, y.dims);
  call.require(branches.has_value(), message);
  auto all = broadcast_shapes(condition.dims, *branches);
  call.require(all.has_value(), message);
  for (const te::TensorInfo& input : {condition, x, y}) {
    call.require_broadcasts(input.dims, *all, message);
  }
  return TensorType::make(*all, x.dtype);
}

void compute_where(const OpCall& call, te::Builder& b) {
  te::Tensor condition = b.input(0);
  te::Tensor x = b.input(1);
  te::Tensor y = b.input(2);
  b.output(b.map(call.result().dims, [&](Indices i) {
    return te::select(te::cast(condition.broadcast(i), kBool), x.broadcast(i), y.broadcast(i));
  }));
}

struct FixedPointMultiplyAttrs {
  Required<int64_t> multiplier;
  Required<int64_t> shift;
  RELAY_ATTRS(FixedPointMultiplyAttrs, (multiplier, "Multiplier in Q31: value / 2^31."),
              (shift, "Binary exponent of the factor."))
};

TypeRef infer_fixed_point(const RelationCall& call) {
  const auto& attrs = call.attrs<FixedPointMultiplyAttrs>();
  call.require(attrs.shift >= -31 && attrs.shift <= 30, "shift is " + std::to_string(attrs.shift));
  call.require(attrs.multiplier >= std::numeric_limits<int32_t>::min() &&
                   attrs.multiplier <= std::numeric_limits<int32_t>::max(),
               "multiplier is " + std::to_string(attrs.multiplier));
  return call.input(0);
}

// (x * multiplier + half) >> (31 - shift) in 64 bits: halves go up.
void compute_fixed_point(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<FixedPointMultiplyAttrs>();
  te::Tensor data = b.input(0);
  int64_t total = 31 - attrs.shift;
  b.output(b.map(call.result().dims, [&](Indices i) {
    Scalar scaled = te::cast(data(i), kInt64) * attrs.multiplier + (int64_t{1} << (total - 1));
    return te::cast(te::binary(te::BinaryOp::kShr, scaled, te::index_constant(total)), kInt32);
  }));
}

RELAY_OP("cast")
    .doc(
        "Conversion to another dtype: to integers floats truncate, integers wrap; non-zero is "
        "True, not-a-number too. To an integer that has no room for them, infinities and "
        "not-a-number among them, floats become the least number of int32 or int64; of narrower "
        "and unsigned integers the low bits of that.")
    .input("data", "Tensor.", tensor())
    .output("result", "Tensor of the data's shape and the given dtype.", tensor())
    .attrs<CastAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { cast(%x, dtype=\"int32\") }", "[1.7, -1.7, 2]")
    .relation(infer_cast)
    .level(3)
    .compute(compute_cast);

RELAY_OP("cast_like")
    .doc("Conversion to the dtype of another tensor.")
    .input("data", "Tensor.", tensor())
    .input("dtype_like", "Tensor whose dtype counts.", tensor())
    .output("result", "Tensor of the data's shape and the dtype of dtype_like.", tensor())
    .example("fn (%x: Tensor[(3), float32]) { cast_like(%x, 0i8) }", "[1.7, -1.7, 2]")
    .relation(infer_cast_like)
    .level(3)
    .compute(compute_cast);

RELAY_OP("reinterpret")
    .doc("The same bits read as another dtype of the same width.")
    .input("data", "Tensor.", tensor(kNumbers))
    .output("result", "Tensor of the data's shape and the given dtype.", tensor(kNumbers))
    .attrs<CastAttrs>()
    .example("fn (%x: float32) { reinterpret(%x, dtype=\"int32\") }", "1")
    .relation(infer_reinterpret)
    .level(3)
    .compute(compute_reinterpret);

RELAY_OP("clip")
    .column(integer_forms(), clip_on_integers)
    .doc("max(min(x, a_max), a_min); not-a-number stays.")
    .input("data", "Tensor of numbers.", tensor('T', kNumbers))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<ClipAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { clip(%x, a_min=0, a_max=1) }", "[-1, 0.5, 2]")
    .relation(infer_clip)
    .level(3)
    .compute(compute_clip);

RELAY_OP("where")
    .doc(
        "Elements of x where the condition holds (is not 0; not-a-number is not), else of y; all "
        "three broadcast.")
    .input("condition", "Tensor of any dtype.", tensor())
    .input("x", "Tensor.", tensor('T'))
    .input("y", "Tensor of the dtype of x.", tensor('T'))
    .output("result", "Tensor of the three's broadcast shape.", tensor('T'))
    .example("fn (%x: Tensor[(3), float32]) { where(%x > 0f, %x, 0f) }", "[-1, 0.5, 2]")
    .relation(infer_where)
    .level(4)
    .compute(compute_where);

RELAY_OP("fixed_point_multiply")
    .doc("Product with multiplier / 2^31 * 2^shift, rounded half up.")
    .input("data", "Tensor of int32.", tensor('T', kInt32))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<FixedPointMultiplyAttrs>()
    .example(
        "fn (%x: Tensor[(2), int32]) { fixed_point_multiply(%x, multiplier=1073741824, shift=0) }",
        "[6, 7]")
    .relation(infer_fixed_point)
    .level(10)
    .compute(compute_fixed_point);

}  // namespace
}  // namespace relay
