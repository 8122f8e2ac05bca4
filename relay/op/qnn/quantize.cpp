// From numbers to quantised ones and back, and from one scale to another.
#include <relay/op/qnn/canonical.h>
#include <relay/op/qnn/qnn_attrs.h>
#include <relay/op/qnn/quantised.h>
#include <relay/op/registry/columns.h>

namespace relay {
namespace {

void require_quantised(const RelationCall& call, DType dtype) {
  call.require(kQuantised.contains(dtype), "out_dtype must be " + kQuantised.described() +
                                               ", found " + std::string(dtype.name()));
}

TypeRef infer_quantize(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<QuantizeAttrs>();
  require_quantised(call, attrs.out_dtype);
  require_parameters(call, 1, 2, data.dims, attrs.axis, "");
  return TensorType::make(data.dims, attrs.out_dtype);
}

ExprRef expand_quantize(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<QuantizeAttrs>();
  te::TensorInfo data = call.tensor(0);
  QuantParams params = quant_params(call, args, 1, 2, data.rank(), attrs.axis);
  bool to_even = attrs.rounding == QuantizeRounding::kToEven;
  return quantized({args[0], data.dtype}, params, attrs.out_dtype, to_even).expr;
}

TypeRef infer_dequantize(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<DequantizeAttrs>();
  DType dtype = attrs.out_dtype.value_or(kFloat32);
  call.require(dtype.is_float(),
               "out_dtype must be a floating-point dtype, found " + std::string(dtype.name()));
  require_parameters(call, 1, 2, data.dims, attrs.axis, "");
  return TensorType::make(data.dims, dtype);
}

ExprRef expand_dequantize(const OpCall& call, std::span<const ExprRef> args) {
  te::TensorInfo data = call.tensor(0);
  QuantParams params =
      quant_params(call, args, 1, 2, data.rank(), call.attrs<DequantizeAttrs>().axis);
  return dequantized({args[0], data.dtype}, params, call.result().dtype).expr;
}

TypeRef infer_requantize(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<RequantizeAttrs>();
  DType dtype = attrs.out_dtype.value_or(kInt8);
  require_quantised(call, dtype);
  require_parameters(call, 1, 2, data.dims, attrs.axis, " of the data");
  require_parameters(call, 3, 4, data.dims, attrs.axis, " of the result");
  return TensorType::make(data.dims, dtype);
}

// The same in floats, of less precision.
Formula rescale_in_floats(const BoundedInt& value, const Formula& factor, DType dtype,
                          Rounding rounding) {
  // Clipped between product and sum, which would be one rounding otherwise on some machines.
  Formula scaled = clip(cast(value.value, dtype) * cast(factor, dtype), -0x1p40, 0x1p40);
  Formula is_nan{call_op("isnan", {scaled.expr}), kBool};
  Formula number = where(is_nan, Formula::real(0, dtype), scaled);
  Formula rounded = rounding == Rounding::kUpward
                        ? apply("floor", number + Formula::real(0.5, dtype))
                        : apply("round", number);
  return cast(rounded, kInt64);
}

ExprRef expand_requantize(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<RequantizeAttrs>();
  te::TensorInfo data = call.tensor(0);
  QuantParams from = quant_params(call, args, 1, 2, data.rank(), attrs.axis);
  QuantParams to = quant_params(call, args, 3, 4, data.rank(), attrs.axis);
  BoundedInt value = difference({args[0], data.dtype}, from.zero_point);
  Rounding rounding =
      attrs.rounding == RequantizeRounding::kToNearest ? Rounding::kToNearest : Rounding::kUpward;
  bool single = attrs.compute_dtype == RequantizeCompute::kFloat32;
  Formula scaled = single || attrs.compute_dtype == RequantizeCompute::kFloat64
                       ? rescale_in_floats(value, ratio(from.scale, to.scale),
                                           single ? kFloat32 : kFloat64, rounding)
                       : rescale(value, from.scale, to.scale, rounding);
  return saturate(scaled, to.zero_point, call.result().dtype).expr;
}

// The dtype that a simulated operator imitates: a number known when the program runs.
enum SimulatedDType : int64_t { kDisabled = 0, kAsInt8 = 1, kAsUInt8 = 2, kAsInt32 = 3 };

template <class A>
TypeRef infer_simulated(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  require_parameters(call, 2, 3, data.dims, call.attrs<A>().axis, "");
  return call.input(0);
}

Formula is_code(const Formula& code, SimulatedDType which) {
  return compare("equal", code, Formula::number(which, kInt32));
}

ExprRef expand_simulated_quantize(const OpCall& call, std::span<const ExprRef> args) {
  te::TensorInfo data = call.tensor(0);
  QuantParams params =
      quant_params(call, args, 2, 3, data.rank(), call.attrs<SimulatedQuantizeAttrs>().axis);
  Formula x{args[0], data.dtype}, code{args[1], kInt32};
  DType compute = data.dtype.bits < 32 ? kFloat32 : data.dtype;
  Formula steps = apply("round", cast(x, compute) / cast(params.scale, compute));
  Formula moved = steps + cast(params.zero_point, compute);
  auto bound = [&](double as_int8, double as_uint8, double as_int32) {
    Formula unsigned_or_wide = where(is_code(code, kAsUInt8), Formula::real(as_uint8, compute),
                                     Formula::real(as_int32, compute));
    return where(is_code(code, kAsInt8), Formula::real(as_int8, compute), unsigned_or_wide);
  };
  Formula result = apply("maximum", apply("minimum", moved, bound(127, 255, 0x1p31 - 1)),
                         bound(-128, 0, -0x1p31));
  return where(is_code(code, kDisabled), x, cast(result, data.dtype)).expr;
}

ExprRef expand_simulated_dequantize(const OpCall& call, std::span<const ExprRef> args) {
  te::TensorInfo data = call.tensor(0);
  QuantParams params =
      quant_params(call, args, 2, 3, data.rank(), call.attrs<DequantizeAttrs>().axis);
  Formula x{args[0], data.dtype}, code{args[1], kInt32};
  DType compute = data.dtype.bits < 32 ? kFloat32 : data.dtype;
  Formula moved = cast(x, compute) - cast(params.zero_point, compute);
  Formula result = moved * cast(params.scale, compute);
  return where(is_code(code, kDisabled), x, cast(result, data.dtype)).expr;
}

RELAY_OP("qnn.quantize")
    .column(quantised(), true)
    .column(narrow_forms(), narrow_quantize)
    .doc(
        "round(data / scale) + zero point in an integer dtype: what is beyond the range becomes "
        "its "
        "end, not-a-number the zero point.")
    .input("data", "Numbers.", tensor(kFloats))
    .input("output_scale", "Step between integers: a scalar, or a vector along the axis.",
           scales_spec())
    .input("output_zero_point", "The integer that stands for 0: a scalar, or a vector.",
           zero_points_spec())
    .output("result", "Integers of out_dtype.", tensor(kQuantised))
    .attrs<QuantizeAttrs>()
    .relation(infer_quantize)
    .example("fn (%x: Tensor[(5), float32]) { qnn.quantize(%x, 0.5f, 3, out_dtype=\"int8\") }",
             "[-100, -0.75, 0, 0.25, 1.5]")
    .level(11)
    .expand(expand_quantize);

RELAY_OP("qnn.dequantize")
    .column(quantised(), true)
    .doc("(data - zero point) * scale: the numbers that integers stand for.")
    .input("data", "Integers.", tensor(kQuantised))
    .input("input_scale", "Step between integers: a scalar, or a vector along the axis.",
           scales_spec())
    .input("input_zero_point", "The integer that stands for 0: a scalar, or a vector.",
           zero_points_spec())
    .output("result", "Numbers of out_dtype.", tensor(kFloats))
    .attrs<DequantizeAttrs>()
    .relation(infer_dequantize)
    .example("fn (%x: Tensor[(3), int8]) { qnn.dequantize(%x, 0.5f, 3) }", "[-128, 3, 6]")
    .level(11)
    .expand(expand_dequantize);

RELAY_OP("qnn.requantize")
    .column(quantised(), true)
    .column(narrow_forms(), narrow_requantize)
    .doc(
        "Integers of one scale and zero point as integers of another one: round((data - "
        "input zero point) * input scale / output scale) + output zero point, the ends of the "
        "range for what is beyond. Computed in integers, with the quotient of the scales as a "
        "multiplier of 31 bits and a power of two, unless compute_dtype asks for floats.")
    .input("data", "Integers.", tensor(kQuantisedSums))
    .input("input_scale", "Scale of the data: a scalar, or a vector along the axis.", scales_spec())
    .input("input_zero_point", "Zero point of the data: a scalar, or a vector.", zero_points_spec())
    .input("output_scale", "Scale of the result: a scalar, or a vector.", scales_spec())
    .input("output_zero_point", "Zero point of the result: a scalar, or a vector.",
           zero_points_spec())
    .output("result", "Integers of out_dtype.", tensor(kQuantised))
    .attrs<RequantizeAttrs>()
    .relation(infer_requantize)
    .example(
        "fn (%x: Tensor[(4), int32]) { qnn.requantize(%x, 0.5f, 0, 1f, 0, out_dtype=\"int8\") }",
        "[-600, -3, 3, 5]")
    .level(11)
    .expand(expand_requantize);

RELAY_OP("qnn.simulated_quantize")
    .column(quantised(), true)
    .doc(
        "The result of qnn.quantize, left in floats, for a dtype that is chosen when the program "
        "runs.")
    .input("data", "Numbers.", tensor('T', kFloats))
    .input("out_dtype",
           "The dtype to act as: 1 is int8, 2 uint8, 3 int32; 0 leaves the data as it is.",
           tensor(kInt32).rank(0))
    .input("output_scale", "Step between integers: a scalar, or a vector along the axis.",
           scales_spec())
    .input("output_zero_point", "The integer that stands for 0: a scalar, or a vector.",
           zero_points_spec())
    .output("result", "Whole numbers within the range of the dtype.", tensor('T'))
    .attrs<SimulatedQuantizeAttrs>()
    .relation(infer_simulated<SimulatedQuantizeAttrs>)
    .example("fn (%x: Tensor[(4), float32]) { qnn.simulated_quantize(%x, 1, 0.5f, 3) }",
             "[-100, -0.75, 0.25, 100]")
    .level(11)
    .expand(expand_simulated_quantize);

RELAY_OP("qnn.simulated_dequantize")
    .column(quantised(), true)
    .doc("The numbers that integers left in floats stand for: the way back of simulated_quantize.")
    .input("data", "Whole numbers.", tensor('T', kFloats))
    .input("in_dtype", "The dtype acted as; 0 leaves the data as it is.", tensor(kInt32).rank(0))
    .input("input_scale", "Step between integers: a scalar, or a vector along the axis.",
           scales_spec())
    .input("input_zero_point", "The integer that stands for 0: a scalar, or a vector.",
           zero_points_spec())
    .output("result", "Numbers.", tensor('T'))
    .attrs<DequantizeAttrs>()
    .relation(infer_simulated<DequantizeAttrs>)
    .example("fn (%x: Tensor[(3), float32]) { qnn.simulated_dequantize(%x, 1, 0.5f, 3) }",
             "[-128, 3, 6]")
    .level(11)
    .expand(expand_simulated_dequantize);

}  // namespace
}  // namespace relay
