// Sums, differences and products of quantised tensors; their concatenation.
#include <algorithm>

#include <relay/op/qnn/canonical.h>
#include <relay/op/qnn/qnn_attrs.h>
#include <relay/op/qnn/quantised.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/facts.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

TypeRef infer_binary(const RelationCall& call) {
  te::TensorInfo lhs = call.tensor(0), rhs = call.tensor(1);
  const auto& attrs = call.attrs<BroadcastAttrs>();
  require_parameters(call, 2, 3, lhs.dims, attrs.lhs_axis, " of lhs");
  require_parameters(call, 4, 5, rhs.dims, attrs.rhs_axis, " of rhs");
  return broadcast_relation()->infer(call);  // of the first two
}

struct Operands {
  BoundedInt lhs, rhs;
  QuantParams left, right, result;
  DType dtype;
};

Operands operands(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<BroadcastAttrs>();
  te::TensorInfo lhs = call.tensor(0), rhs = call.tensor(1);
  QuantParams left = quant_params(call, args, 2, 3, lhs.rank(), attrs.lhs_axis);
  QuantParams right = quant_params(call, args, 4, 5, rhs.rank(), attrs.rhs_axis);
  return {difference({args[0], lhs.dtype}, left.zero_point),
          difference({args[1], rhs.dtype}, right.zero_point),
          left,
          right,
          quant_params(call, args, 6, 7, 0, 0),
          lhs.dtype};
}

// Each operand in steps of the result's scale, then the sum or difference of these.
ExprRef expand_sum(const OpCall& call, std::span<const ExprRef> args, std::string_view op) {
  Operands o = operands(call, args);
  Formula lhs = rescale(o.lhs, o.left.scale, o.result.scale);
  Formula rhs = rescale(o.rhs, o.right.scale, o.result.scale);
  return saturate(apply(op, lhs, rhs), o.result.zero_point, o.dtype).expr;
}

// The product in steps of the product of the scales, then in the result's.
ExprRef expand_product(const OpCall& call, std::span<const ExprRef> args) {
  Operands o = operands(call, args);
  constexpr int kMost = 62;
  for (BoundedInt* side : {&o.lhs, &o.rhs}) {
    if (o.lhs.bits + o.rhs.bits <= kMost) break;
    // More than integers of 16 bits and a zero point among them make of each other.
    side->value = clip(side->value, -0x1p31 + 1, 0x1p31 - 1);
    side->bits = kMost / 2;
  }
  BoundedInt product{o.lhs.value * o.rhs.value, o.lhs.bits + o.rhs.bits};
  Formula scaled = rescale(product, scale_product(o.left.scale, o.right.scale), o.result.scale);
  return saturate(scaled, o.result.zero_point, o.dtype).expr;
}

void declare_binary(OpBuilder& op, DTypes dtypes, ExpandFn expand) {
  op.input("lhs", "Integers.", tensor('T', dtypes))
      .input("rhs", "Integers; the shapes broadcast as in NumPy.", tensor('T'))
      .input("lhs_scale", "Scale of lhs: a scalar, or a vector along lhs_axis.", scales_spec())
      .input("lhs_zero_point", "Zero point of lhs: a scalar, or a vector.", zero_points_spec())
      .input("rhs_scale", "Scale of rhs: a scalar, or a vector along rhs_axis.", scales_spec())
      .input("rhs_zero_point", "Zero point of rhs: a scalar, or a vector.", zero_points_spec())
      .input("output_scale", "Scale of the result: a scalar.", scale_spec())
      .input("output_zero_point", "Zero point of the result: a scalar.", zero_point_spec())
      .output("result", "Integers.", tensor('T'))
      .attrs<BroadcastAttrs>()
      .relation(infer_binary)
      .level(11)
      .expand(std::move(expand));
}

[[maybe_unused]] const bool binary_declared = [] {
  auto sum = [](std::string_view op) {
    return [op](const OpCall& call, std::span<const ExprRef> args) {
      return expand_sum(call, args, op);
    };
  };
  auto narrow = [](std::string_view op) -> ExpandFn {
    return [op](const OpCall& call, std::span<const ExprRef> args) {
      return narrow_sum(call, args, op);
    };
  };
  declare_binary(declare_op("qnn.add")
                     .column(quantised(), true)
                     .column(narrow_forms(), narrow("add"))
                     .doc("Sum of quantised tensors: each operand is rounded to the result's "
                          "scale, halves up; beyond the range the nearest end.")
                     .example("fn (%a: Tensor[(3), int8], %b: Tensor[(3), int8]) { qnn.add(%a, "
                              "%b, 0.5f, 2, 0.25f, -3, 0.75f, 5) }",
                              "[-128, -1, 60]", "[100, 7, -9]"),
                 kQuantised, sum("add"));
  declare_binary(
      declare_op("qnn.subtract")
          .column(quantised(), true)
          .column(narrow_forms(), narrow("subtract"))
          .doc("Difference of quantised tensors: each operand is rounded to the result's scale, "
               "halves up; beyond the range the nearest end.")
          .example("fn (%a: Tensor[(3), int8], %b: Tensor[(3), int8]) { qnn.subtract(%a, %b, "
                   "0.5f, 2, 0.25f, -3, 0.75f, 5) }",
                   "[-128, -1, 60]", "[100, 7, -9]"),
      kQuantised, sum("subtract"));
  declare_binary(
      declare_op("qnn.mul")
          .column(quantised(), true)
          .column(narrow_forms(), narrow_product)
          .column(float_forms(), "multiply")
          .doc("Product of quantised tensors, rounded to the result's scale, halves up; beyond "
               "the range the nearest end.")
          .example("fn (%a: Tensor[(3), int8], %b: Tensor[(3), int8]) { qnn.mul(%a, %b, 0.5f, "
                   "1, 0.5f, 1, 0.5f, 1) }",
                   "[-128, -1, 60]", "[100, 7, -9]"),
      kQuantisedFactors, expand_product);
  return true;
}();

TypeRef infer_concatenate(const RelationCall& call) {
  static const Relation* joined = get_op("concatenate")->relation();
  size_t count = call.tensors(0).size();
  for (size_t input : {1, 2}) {
    std::vector<te::TensorInfo> parameters = call.tensors(input);
    std::string what = input == 1 ? "scales" : "zero points";
    call.require(parameters.size() == count,
                 "there must be one of the " + what + " for each of the " + std::to_string(count) +
                     " tensors, found " + std::to_string(parameters.size()));
  }
  return joined->infer(call);
}

ExprRef expand_concatenate(const OpCall& call, std::span<const ExprRef> args) {
  QuantParams to = quant_params(call, args, 3, 4, 0, 0);
  DType dtype = call.result().dtype;
  auto field = [&](size_t input, uint32_t k) {
    const auto* tuple = args[input]->as<relay::Tuple>();
    return tuple != nullptr ? tuple->fields()[k] : make_projection(args[input], k);
  };
  std::vector<ExprRef> parts;
  auto count = static_cast<uint32_t>(call.input(0)->as<TupleType>()->fields().size());
  for (uint32_t k = 0; k < count; ++k) {
    Formula scale{field(1, k), kFloat32}, zero_point{field(2, k), kInt32};
    BoundedInt part = difference({field(0, k), dtype}, zero_point);
    Formula scaled = rescale(part, scale, to.scale);
    parts.push_back(saturate(scaled, to.zero_point, dtype).expr);
  }
  return call_op("concatenate", {relay::make_tuple(parts)}, call.attrs_ref());
}

RELAY_OP("qnn.concatenate")
    .column(quantised(), true)
    .column(narrow_forms(), narrow_concatenate)
    .doc("Quantised tensors joined along an axis, each rounded to the result's scale, halves up.")
    .input("data", "Tuple of tensors of one dtype and rank.", tuple_of(tensor('T', kQuantised)))
    .input("input_scales", "Tuple of their scales.", tuple_of(scale_spec()))
    .input("input_zero_points", "Tuple of their zero points.", tuple_of(zero_point_spec()))
    .input("output_scale", "Scale of the result: a scalar.", scale_spec())
    .input("output_zero_point", "Zero point of the result: a scalar.", zero_point_spec())
    .output("result", "Integers.", tensor('T'))
    .attrs<ConcatenateAttrs>()
    .relation(infer_concatenate)
    .example(
        "fn (%a: Tensor[(2), int8], %b: Tensor[(1), int8]) { qnn.concatenate((%a, %b), (0.5f, "
        "0.25f), (0, 2), 0.25f, 2) }",
        "[-50, 10]", "[7]")
    .level(11)
    .expand(expand_concatenate);

}  // namespace
}  // namespace relay
