#include <relay/op/qnn/canonical.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <relay/op/nn/nn_attrs.h>
#include <relay/op/qnn/qnn_attrs.h>
#include <relay/op/reduce/reduce_attrs.h>

namespace relay {

OpColumn<ExpandFn>& narrow_forms() {
  static auto* column = new OpColumn<ExpandFn>("narrow_forms");
  return *column;
}

OpColumn<ExpandFn>& plain_products() {
  static auto* column = new OpColumn<ExpandFn>("plain_products");
  return *column;
}

namespace {

/// A positive factor as multiplier / 2^31 · 2^shift with a multiplier of 31 bits.
struct Q31 {
  int64_t multiplier;
  int shift;
};

/// Nothing for factors that fixed_point_multiply has no shift for.
std::optional<Q31> q31(double factor) {
  constexpr int kLeastShift = -30, kMostShift = 29;
  if (!(factor > 0) || !std::isfinite(factor)) return std::nullopt;
  int shift = 0;
  const double significand = std::frexp(factor, &shift);
  auto multiplier = static_cast<int64_t>(std::round(std::ldexp(significand, 31)));
  if (multiplier == int64_t{1} << 31) {
    multiplier /= 2;
    ++shift;
  }
  if (shift < kLeastShift || shift > kMostShift) return std::nullopt;
  return Q31{multiplier, shift};
}

ExprRef call_with(std::string_view op, const ExprRef& x,
                  std::initializer_list<std::pair<const char*, AttrValue>> values) {
  std::vector<NamedAttr> attrs;
  for (const auto& [name, value] : values) attrs.push_back({Name(name), value, Span()});
  return call_op(op, {x}, Attrs::make(*get_op(op)->attrs_schema(), attrs, Span()));
}

// To the nearest integer, halves up.
Formula times(const Formula& x, Q31 factor) {
  return {call_with("fixed_point_multiply", x.expr,
                    {{"multiplier", AttrValue(factor.multiplier)},
                     {"shift", AttrValue(int64_t{factor.shift})}}),
          kInt32};
}

// To the nearest integer, halves away from zero, in 64 bits. Nothing for factors from 1, whose
// products may leave them.
std::optional<Formula> times_to_nearest(const Formula& x, Q31 factor) {
  const int64_t down = 31 - factor.shift;
  if (down < 31 || down > 61) return std::nullopt;
  auto number = [](int64_t value) { return Formula::number(value, kInt64); };
  Formula product = cast(x, kInt64) * factor.multiplier;
  const int64_t half = int64_t{1} << (down - 1);
  Formula positive = compare("greater_equal", product, number(0));
  Formula moved = product + where(positive, number(half), number(half - 1));
  return cast(moved >> down, kInt32);
}

/// One multiplier for each channel along `axis`.
std::optional<Formula> times_per_axis(const Formula& x, const NDArray& scales, double to,
                                      int64_t axis) {
  std::vector<int32_t> multipliers, left, right;
  bool any_left = false, any_right = false;
  for (int64_t i = 0; i < scales.size(); ++i) {
    std::optional<Q31> factor = q31(scales.element_as_double(i) / to);
    if (!factor) return std::nullopt;
    multipliers.push_back(static_cast<int32_t>(factor->multiplier));
    left.push_back(std::max(factor->shift, 0));
    right.push_back(std::max(-factor->shift, 0));
    any_left |= left.back() > 0;
    any_right |= right.back() > 0;
  }
  const Shape shape{scales.size()};
  auto constant = [&](const std::vector<int32_t>& values) {
    return make_constant(NDArray::from<int32_t>(shape, values));
  };
  const Operator* op = get_op("fixed_point_multiply_per_axis");
  const NamedAttr attrs[] = {{Name("is_lshift_required"), AttrValue(any_left), Span()},
                             {Name("is_rshift_required"), AttrValue(any_right), Span()},
                             {Name("axes"), AttrValue(AttrValue::List{AttrValue(axis)}), Span()}};
  ExprRef result = call_op("fixed_point_multiply_per_axis",
                           {x.expr, constant(multipliers), constant(left), constant(right)},
                           Attrs::make(*op->attrs_schema(), attrs, Span()));
  return Formula{result, kInt32};
}

/// The number that a scalar or a vector of one is known to have everywhere.
std::optional<double> known_scalar(const Formula& x) {
  NDArray known = x.constant();
  if (!known || known.rank() != 0) return std::nullopt;
  return known.element_as_double(0);
}

bool equal_scalars(const Formula& a, const Formula& b) {
  const std::optional<double> x = known_scalar(a), y = known_scalar(b);
  return x && y && *x == *y;
}

/// Integers of `from` as integers of `to`, in int32; nothing if the factors are not known. `scale`
/// is that of `from` as the call has it, which runs along `axis` if it is a vector.
std::optional<Formula> moved(const Formula& data, const QuantParams& from, const Formula& scale,
                             const QuantParams& to, Rounding rounding, int64_t axis) {
  Formula result = cast(data, kInt32) - from.zero_point;
  const NDArray scales = scale.constant();
  const std::optional<double> target = known_scalar(to.scale);
  if (!scales || !target || to.zero_point.constant().rank() != 0) return std::nullopt;
  if (!equal_scalars(scale, to.scale)) {
    std::optional<Formula> product;
    if (scales.rank() != 0) {
      if (rounding != Rounding::kUpward) return std::nullopt;
      product = times_per_axis(result, scales, *target, axis);
    } else if (std::optional<Q31> factor = q31(scales.element_as_double(0) / *target)) {
      product = rounding == Rounding::kUpward ? times(result, *factor)
                                              : times_to_nearest(result, *factor);
    }
    if (!product) return std::nullopt;
    result = *product;
  }
  return to.zero_point.is_all(0) ? result : apply("add", to.zero_point, result);
}

Formula cut(const Formula& x, DType dtype) {
  auto [low, high] = integer_range(dtype);
  return cast(clip(x, static_cast<double>(low), static_cast<double>(high)), dtype);
}

/// Sums of such integers, or differences from a zero point, do not leave 32 bits.
bool is_small(DType dtype) { return dtype.bits <= 16; }

Formula narrow_steps(const Formula& data, const QuantParams& params, DType dtype) {
  Formula steps = apply("round", data / params.scale) + cast(params.zero_point, kFloat32);
  return cut(steps, dtype);
}

/// Both are known scalars.
bool known_params(const QuantParams& params) {
  return known_scalar(params.scale) && known_scalar(params.zero_point);
}

}  // namespace

ExprRef narrow_quantize(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<QuantizeAttrs>();
  te::TensorInfo data = call.tensor(0);
  if (data.dtype != kFloat32 || !is_small(attrs.out_dtype) ||
      attrs.rounding != QuantizeRounding::kToNearest)
    return {};
  QuantParams params = quant_params(call, args, 1, 2, data.rank(), attrs.axis);
  return narrow_steps({args[0], data.dtype}, params, attrs.out_dtype).expr;
}

ExprRef narrow_requantize(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<RequantizeAttrs>();
  te::TensorInfo data = call.tensor(0);
  const DType dtype = call.result().dtype;
  const bool in_floats = attrs.compute_dtype == RequantizeCompute::kFloat32 ||
                         attrs.compute_dtype == RequantizeCompute::kFloat64;
  if (in_floats || data.dtype.bits > 32 || !is_small(dtype)) return {};
  QuantParams from = quant_params(call, args, 1, 2, data.rank(), attrs.axis);
  QuantParams to = quant_params(call, args, 3, 4, data.rank(), attrs.axis);
  if (!to.zero_point.constant()) return {};
  const bool nearest = attrs.rounding == RequantizeRounding::kToNearest;
  const auto axis =
      static_cast<int64_t>(data.rank() == 0 ? 0 : axis_position(attrs.axis, data.rank()));
  std::optional<Formula> result = moved({args[0], data.dtype}, from, {args[1], kFloat32}, to,
                                        nearest ? Rounding::kToNearest : Rounding::kUpward, axis);
  return result ? cut(*result, dtype).expr : ExprRef();
}

ExprRef narrow_sum(const OpCall& call, std::span<const ExprRef> args, std::string_view op) {
  const DType dtype = call.result().dtype;
  QuantParams to = quant_params(call, args, 6, 7, 0, 0);
  if (!is_small(dtype) || !known_params(to)) return {};
  std::vector<Formula> sides;
  for (size_t side : {0, 1}) {
    QuantParams from = quant_params(call, args, 2 + 2 * side, 3 + 2 * side, 0, 0);
    if (!known_params(from)) return {};
    Formula data{args[side], dtype};
    const bool same =
        equal_scalars(from.scale, to.scale) && equal_scalars(from.zero_point, to.zero_point);
    std::optional<Formula> x =
        same ? cast(data, kInt32) : moved(data, from, from.scale, to, Rounding::kUpward, 0);
    if (!x) return {};
    sides.push_back(*x);
  }
  Formula result = apply(op, sides[0], sides[1]);
  // Both sides have the zero point in them: a sum has it twice, a difference not at all.
  result = op == "add" ? result - to.zero_point : result + to.zero_point;
  return cut(result, dtype).expr;
}

ExprRef narrow_product(const OpCall& call, std::span<const ExprRef> args) {
  const DType dtype = call.result().dtype;
  QuantParams left = quant_params(call, args, 2, 3, 0, 0),
              right = quant_params(call, args, 4, 5, 0, 0),
              to = quant_params(call, args, 6, 7, 0, 0);
  if (dtype.bits > 8 || !known_params(left) || !known_params(right) || !known_params(to)) return {};
  Formula product = (cast({args[0], dtype}, kInt32) - left.zero_point) *
                    (cast({args[1], dtype}, kInt32) - right.zero_point);
  QuantParams from{scale_product(left.scale, right.scale), Formula::number(0, kInt32)};
  std::optional<Formula> result = moved(product, from, from.scale, to, Rounding::kUpward, 0);
  return result ? cut(*result, dtype).expr : ExprRef();
}

ExprRef narrow_concatenate(const OpCall& call, std::span<const ExprRef> args) {
  const DType dtype = call.result().dtype;
  QuantParams to = quant_params(call, args, 3, 4, 0, 0);
  if (!is_small(dtype) || !known_params(to)) return {};
  std::vector<const relay::Tuple*> tuples;
  for (size_t input : {0, 1, 2}) tuples.push_back(args[input]->as<relay::Tuple>());
  for (const relay::Tuple* tuple : tuples) {
    if (tuple == nullptr) return {};
  }
  std::vector<ExprRef> parts;
  for (size_t k = 0; k < tuples[0]->fields().size(); ++k) {
    QuantParams from{{tuples[1]->fields()[k], kFloat32}, {tuples[2]->fields()[k], kInt32}};
    if (!known_params(from)) return {};
    parts.push_back(tuples[0]->fields()[k]);
    if (equal_scalars(from.scale, to.scale) && equal_scalars(from.zero_point, to.zero_point))
      continue;
    std::optional<Formula> part =
        moved({parts.back(), dtype}, from, from.scale, to, Rounding::kUpward, 0);
    if (!part) return {};
    parts.back() = cut(*part, dtype).expr;
  }
  return call_op("concatenate", {relay::make_tuple(parts)}, call.attrs_ref());
}

ExprRef narrow_dense(const OpCall& call, std::span<const ExprRef> args) {
  te::TensorInfo data = call.tensor(0), weight = call.tensor(1);
  const std::optional<double> data_zero = known_scalar({args[2], kInt32}),
                              weight_zero = known_scalar({args[3], kInt32});
  const bool known = data_zero && weight_zero && weight.dims[1].is_int();
  if (!known || call.result().dtype != kInt32 || data.rank() != 2) return {};
  auto attrs = call.attrs<DenseAttrs>();
  attrs.out_dtype = kInt32;
  Formula result{call_op("nn.dense", {args[0], args[1]}, Attrs::make(attrs)), kInt32};
  auto sums = [&](size_t input, bool keep) -> Formula {
    ReduceAttrs reduce;
    reduce.axis = {1};
    reduce.keepdims = keep;
    Formula integers = cast({args[input], call.tensor(input).dtype}, kInt32);
    return {call_op("sum", {integers.expr}, Attrs::make(reduce)), kInt32};
  };
  // Σ (x - z)(w - y) = Σ xw - y Σ x - z Σ w + zyn. Sums wrap, so the parts do not matter.
  if (*weight_zero != 0) result = result - apply("multiply", {args[3], kInt32}, sums(0, true));
  if (*data_zero == 0) return result.expr;
  Formula of_weight = apply("multiply", {args[2], kInt32}, sums(1, false));
  if (*weight_zero == 0) return (result - of_weight).expr;
  auto wrapping = [](auto value) { return static_cast<uint32_t>(static_cast<int64_t>(value)); };
  const uint32_t both =
      wrapping(*data_zero) * wrapping(*weight_zero) * wrapping(weight.dims[1].as_int());
  const Formula constant = Formula::number(static_cast<int32_t>(both), kInt32);
  return apply("add", result, apply("subtract", constant, of_weight)).expr;
}

ExprRef narrow_function(const OpCall& call, std::span<const ExprRef> args,
                        const std::function<Formula(const Formula&)>& f) {
  const DType dtype = call.tensor(0).dtype;
  QuantParams from = quant_params(call, args, 1, 2, 0, 0),
              to = quant_params(call, args, 3, 4, 0, 0);
  return narrow_steps(f(dequantized({args[0], dtype}, from, kFloat32)), to, dtype).expr;
}

}  // namespace relay
