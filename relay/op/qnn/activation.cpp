// Functions of one quantised tensor.
#include <relay/op/nn/along_axis.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/qnn/canonical.h>
#include <relay/op/qnn/quantised.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/facts.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

/// A byte has so many values.
constexpr int64_t kBytes = 256;

TypeRef infer_unary(const RelationCall& call) { return call.input(0); }

// The integers that bytes of a dtype are, in order.
Formula all_bytes(DType dtype) {
  NDArray values = NDArray::empty({kBytes}, kInt32);
  int64_t least = integer_range(dtype).first;
  for (int64_t i = 0; i < kBytes; ++i) values.data<int32_t>()[i] = static_cast<int32_t>(least + i);
  return {make_constant(values), kInt32};
}

// A table of the results for all bytes, in float64, so that every executor and machine has the same
// one. Known scales leave the table alone of it.
ExprRef expand_table(const OpCall& call, std::span<const ExprRef> args,
                     const std::function<Formula(const Formula&)>& f) {
  DType dtype = call.tensor(0).dtype;
  QuantParams from = quant_params(call, args, 1, 2, 0, 0);
  QuantParams to = quant_params(call, args, 3, 4, 0, 0);
  Formula table = quantized(f(dequantized(all_bytes(dtype), from, kFloat64)), to, dtype);
  Formula place = cast({args[0], dtype}, kInt32) - integer_range(dtype).first;
  TakeAttrs attrs;
  attrs.axis = 0;
  return call_op("take", {table.expr, place.expr}, Attrs::make(attrs));
}

OpBuilder& declare_unary(std::string_view name, const char* doc) {
  return declare_op(name)
      .column(quantised(), true)
      .doc(doc)
      .input("data", "Integers.", tensor('T', kQuantisedBytes))
      .input("scale", "Scale of the data: a scalar.", scale_spec())
      .input("zero_point", "Zero point of the data: a scalar.", zero_point_spec())
      .input("output_scale", "Scale of the result: a scalar.", scale_spec())
      .input("output_zero_point", "Zero point of the result: a scalar.", zero_point_spec())
      .output("result", "Integers.", tensor('T'))
      .level(11);
}

using Function = std::function<Formula(const Formula&)>;

OpBuilder& declare_table(std::string_view name, const char* doc, Function f) {
  return declare_unary(name, doc)
      .column(layout_rules(), LayoutRule::kFollows)
      .relation(infer_unary)
      .expand([f = std::move(f)](const OpCall& call, std::span<const ExprRef> args) {
        return expand_table(call, args, f);
      })
      .example(
          "fn (%x: Tensor[(3), uint8]) { " + std::string(name) + "(%x, 0.05f, 128, 0.04f, 20) }",
          "[130, 150, 255]");
}

// A function of all numbers, which can be written between qnn.dequantize and qnn.quantize.
OpBuilder& declare_whole(std::string_view name, const char* doc, const Function& f) {
  return declare_table(name, doc, f)
      .column(narrow_forms(), [f](const OpCall& call, std::span<const ExprRef> args) {
        return narrow_function(call, args, f);
      });
}

Function by(std::string_view op) {
  return [op](const Formula& x) { return apply(op, x); };
}

Formula hardswish(const Formula& x) {
  Formula gate = clip(x + Formula::real(3, x.dtype), 0, 6);
  return x * gate / Formula::real(6, x.dtype);
}

[[maybe_unused]] const bool activations_declared = [] {
  declare_whole("qnn.abs", "Absolute value of a quantised tensor.", by("abs"));
  declare_whole("qnn.erf", "Gauss error function of a quantised tensor.", by("erf"));
  declare_whole("qnn.exp", "e to the power of a quantised tensor.", by("exp"));
  declare_whole("qnn.hardswish", "x * min(max(x + 3, 0), 6) / 6 of a quantised tensor.", hardswish);
  declare_table("qnn.log",
                "Natural logarithm of a quantised tensor; of what is below 0, the zero point.",
                by("log"));
  declare_table("qnn.rsqrt",
                "Reciprocal of the square root of a quantised tensor; of what is below 0, the "
                "zero point.",
                by("rsqrt"));
  declare_whole("qnn.sigmoid", "1 / (1 + exp(-x)) of a quantised tensor.", by("sigmoid"));
  declare_table("qnn.sqrt",
                "Square root of a quantised tensor; of what is below 0, the zero point.",
                by("sqrt"));
  declare_whole("qnn.tanh", "Hyperbolic tangent of a quantised tensor.", by("tanh"));
  return true;
}();

// In steps of the result's scale first; what lies below its zero point z then becomes alpha · q +
// (1 - alpha) · z, each product rounded.
ExprRef expand_leaky_relu(const OpCall& call, std::span<const ExprRef> args) {
  DType dtype = call.tensor(0).dtype;
  double alpha = call.attrs<LeakyReluAttrs>().alpha;
  QuantParams from = quant_params(call, args, 1, 2, 0, 0);
  QuantParams to = quant_params(call, args, 3, 4, 0, 0);
  Formula zero_point = cast(to.zero_point, kInt64);
  Formula scaled = rescale(difference({args[0], dtype}, from.zero_point), from.scale, to.scale);
  constexpr double kMost = 0x1p32 - 1;  // what fits beside a zero point, and is out of range anyway
  Formula moved = clip(scaled + zero_point, -kMost, kMost);
  auto part = [&](const Formula& value, double factor) {
    return multiply({value, 32}, fixed_point(Formula::real(factor, kFloat64)), Rounding::kUpward);
  };
  Formula sloped = part(moved, alpha) + part(zero_point, 1 - alpha);
  Formula result = where(compare("less", moved, zero_point), sloped, moved);
  return saturate(result, Formula::number(0, kInt64), dtype).expr;
}

// exp(scale · (x - largest)) / sum, along a row: the exponentials of all possible differences as
// integers of 30 bits, so that sums are exact and every executor and machine has the same result.
void compute_softmax(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0), scale = b.input(1), out_scale = b.input(3), out_zero = b.input(4);
  size_t axis = axis_position(call.attrs<SoftmaxAttrs>().axis, data.rank());
  Rows rows(data, axis);
  constexpr double kOne = 1 << 30;
  auto real = [](const Scalar& x) { return te::cast(x, kFloat64); };
  te::Tensor table = b.map({kBytes}, [&](Indices i) {
    Scalar power = te::exp(-(real(i[0]) * real(scale({}))));
    return te::cast(te::round(power * kOne), kInt64);
  });
  auto element = [&](Indices row, const Scalar& k) {
    return te::cast(data(te::insert(row, axis, k)), kInt64);
  };
  te::Tensor largest = b.map(rows.outer, [&](Indices row) {
    return b.max(rows.extent, [&](Indices k) { return element(row, k[0]); });
  });
  te::Tensor total = b.map(rows.outer, [&](Indices row) {
    return b.sum(rows.extent,
                 [&](Indices k) { return table({largest(row) - element(row, k[0])}); });
  });
  te::Tensor factor = b.map(
      rows.outer, [&](Indices row) { return 1.0 / (real(total(row)) * real(out_scale({}))); });
  std::pair<int64_t, int64_t> range = integer_range(data.dtype());
  b.output(b.map(data.dims(), [&](Indices i) {
    std::vector<Scalar> row = rows.row_of(i);
    Scalar power = table({largest(row) - te::cast(data(i), kInt64)});
    Scalar steps = te::round(real(power) * factor(row)) + real(out_zero({}));
    Scalar ends = te::max(te::min(steps, te::constant(range.second, kFloat64)),
                          te::constant(range.first, kFloat64));
    return te::cast(ends, data.dtype());
  }));
}

TypeRef infer_softmax(const RelationCall& call) {
  normalize_axis(call, call.attrs<SoftmaxAttrs>().axis, call.tensor(0).rank());
  return call.input(0);
}

[[maybe_unused]] const bool others_declared = [] {
  declare_unary("qnn.leaky_relu",
                "x where it is positive, else alpha * x, of a quantised tensor: rounded to the "
                "result's scale, then, below 0, the product with alpha once more, halves up.")
      .attrs<LeakyReluAttrs>()
      .relation(infer_unary)
      .expand(expand_leaky_relu)
      .example("fn (%x: Tensor[(3), int8]) { qnn.leaky_relu(%x, 0.5f, 3, 0.25f, -4, alpha=0.3f) }",
               "[-128, 0, 20]");
  declare_unary("qnn.softmax",
                "exp(x) / sum(exp(x)) along an axis of a quantised tensor, rounded once, halves "
                "away from zero.")
      .attrs<SoftmaxAttrs>()
      .relation(infer_softmax)
      .compute(compute_softmax)
      .example("fn (%x: Tensor[(4), int8]) { qnn.softmax(%x, 0.1f, 3, 0.00390625f, -128) }",
               "[-51, 40, -45, 4]");
  return true;
}();

}  // namespace
}  // namespace relay
