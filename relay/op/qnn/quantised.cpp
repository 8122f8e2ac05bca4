#include <relay/op/qnn/quantised.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace relay {

namespace {

bool is_vector(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->dims().size() == 1;
}

}  // namespace

void require_parameters(const RelationCall& call, size_t scale, size_t zero_point,
                        const std::vector<Dim>& dims, int64_t axis, const std::string& whose) {
  if (!dims.empty()) normalize_axis(call, axis, dims.size());  // of scalars, too
  for (size_t input : {scale, zero_point}) {
    te::TensorInfo info = call.tensor(input);
    if (info.rank() == 0) continue;
    std::string what = (input == scale ? "scale" : "zero point") + whose;
    auto at = static_cast<size_t>(normalize_axis(call, axis, dims.size()));
    Dim along[] = {dims[at]};
    std::string message = what + " of " + info.dims[0].str() + " elements does not fit axis " +
                          std::to_string(at) + " of " + shape_str(dims);
    auto joined = broadcast(info.dims[0], along[0]);
    call.require(joined && (*joined == along[0] || !joined->is_int()), message);
    call.require_broadcasts(info.dims, along, message);
  }
}

QuantParams quant_params(const OpCall& call, std::span<const ExprRef> args, size_t scale,
                         size_t zero_point, size_t rank, int64_t axis) {
  auto shaped = [&](size_t input, DType dtype) -> Formula {
    Formula value{args[input], dtype};
    return is_vector(call.input(input)) ? along(value, axis_position(axis, rank), rank) : value;
  };
  return {shaped(scale, kFloat32), shaped(zero_point, kInt32)};
}

std::pair<int64_t, int64_t> integer_range(DType dtype) {
  int bits = dtype.bits;
  if (dtype.is_unsigned()) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

BoundedInt difference(const Formula& data, const Formula& zero_point) {
  constexpr int kWide = 62;
  Formula x = cast(data, kInt64);
  bool wide = data.dtype.bits > 32;
  if (wide) x = clip(x, -0x1p61, 0x1p61);
  int bits = wide ? kWide : 32;
  if (NDArray known = zero_point.constant(); known && !wide) {
    auto [low, high] = integer_range(data.dtype);
    int64_t most = 0;
    for (int64_t i = 0; i < known.size(); ++i) {
      int64_t zero = known.element_as_int64(i);
      most = std::max({most, std::abs(low - zero), std::abs(high - zero)});
    }
    bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(most)));
  }
  return {x - cast(zero_point, kInt64), bits};
}

namespace {

// f of the elements where both are known, scalars or of one shape.
Formula combined(const Formula& a, const Formula& b, DType dtype, double (*f)(double, double),
                 const Formula& otherwise) {
  NDArray x = a.constant(), y = b.constant();
  if (!x || !y) return otherwise;
  bool same = std::equal(x.shape().begin(), x.shape().end(), y.shape().begin(), y.shape().end());
  if (x.rank() != 0 && y.rank() != 0 && !same) return otherwise;
  const NDArray& larger = x.rank() > 0 ? x : y;
  NDArray result = NDArray::empty(larger.shape(), kFloat64);
  for (int64_t i = 0; i < larger.size(); ++i) {
    result.data<double>()[i] =
        f(x.element_as_double(x.rank() > 0 ? i : 0), y.element_as_double(y.rank() > 0 ? i : 0));
  }
  return {make_constant(result.cast(dtype)), dtype};
}

}  // namespace

Formula ratio(const Formula& from, const Formula& to) {
  return combined(
      from, to, kFloat64, [](double x, double y) { return x / y; },
      cast(from, kFloat64) / cast(to, kFloat64));
}

Formula scale_product(const Formula& a, const Formula& b) {
  return combined(
      a, b, kFloat32, [](double x, double y) { return x * y; }, a * b);
}

Formula rescale(const BoundedInt& value, const Formula& from, const Formula& to,
                Rounding rounding) {
  return multiply(value, fixed_point(ratio(from, to)), rounding);
}

Formula saturate(const Formula& value, const Formula& zero_point, DType dtype) {
  auto [low, high] = integer_range(dtype);
  Formula moved = value + cast(zero_point, value.dtype);
  return cast(clip(moved, static_cast<double>(low), static_cast<double>(high)), dtype);
}

Formula dequantized(const Formula& data, const QuantParams& params, DType dtype) {
  BoundedInt integers = difference(data, params.zero_point);
  // Where 32 bits hold the difference it is taken in them, which is the same integer.
  if (integers.bits < 32) integers.value = cast(data, kInt32) - params.zero_point;
  if (params.zero_point.is_all(0) && data.dtype == kInt32) integers.value = data;
  DType compute = dtype.bits < 32 ? kFloat32 : dtype;
  return cast(cast(integers.value, compute) * cast(params.scale, compute), dtype);
}

namespace {

// Halves go to the even neighbour. The part above the integer below is exact.
Formula rounded_to_even(const Formula& x) {
  Formula below = apply("floor", x), half = below * Formula::real(0.5, x.dtype);
  Formula rest = x - below, middle = Formula::real(0.5, x.dtype);
  Formula odd = compare("not_equal", half, apply("floor", half));
  Formula beyond_half =
      where(odd, compare("greater_equal", rest, middle), compare("greater", rest, middle));
  return where(beyond_half, below + Formula::real(1, x.dtype), below);
}

Formula is_nan(const Formula& x) { return {call_op("isnan", {x.expr}), kBool}; }

/// A scale that is one known number by which the ends of a range of quotients can be multiplied;
/// else 0.
double known_scale(const Formula& scale) {
  NDArray known = scale.constant();
  if (!known || known.size() != 1) return 0;
  const double value = known.element_as_double(0);
  return value > 0x1p-100 && value < 0x1p100 ? value : 0;
}

/// float32 with one known zero point near 0, halves to even. Quotients that are rounded to the ends
/// of the range are cut off before they are rounded, with a known scale before they are divided:
/// then all that is divided is finite.
Formula quantized_by_sum(const Formula& data, const QuantParams& params, DType dtype) {
  const auto range = integer_range(dtype);
  const int64_t zero = params.zero_point.constant().element_as_int64(0);
  const double scale = known_scale(params.scale);
  auto cut = [&](const Formula& x, double unit) {
    auto end = [&](int64_t of_range) {
      return static_cast<double>(static_cast<float>(static_cast<double>(of_range - zero) * unit));
    };
    return clip(where(is_nan(x), Formula::real(0, x.dtype), x), end(range.first),
                end(range.second));
  };
  Formula steps = scale > 0 ? cut(data, scale) / params.scale : cut(data / params.scale, 1);
  // Beside this number float32 has no fractions: a sum with it is rounded to even.
  constexpr double kWithoutFractions = 0x1.8p23;
  Formula beside = Formula::real(kWithoutFractions, data.dtype);
  Formula back = Formula::real(kWithoutFractions - static_cast<double>(zero), data.dtype);
  return cast((steps + beside) - back, dtype);
}

}  // namespace

Formula quantized(const Formula& data, const QuantParams& params, DType dtype, bool to_even) {
  DType compute = data.dtype.bits < 32 ? kFloat32 : data.dtype;
  // Floats hold the integers around the range of 16 bits; with zero points far off, or for 32 bits,
  // they do not.
  NDArray zero_points = params.zero_point.constant();
  bool near = static_cast<bool>(zero_points);
  for (int64_t i = 0; near && i < zero_points.size(); ++i)
    near = std::abs(zero_points.element_as_int64(i)) <= 1 << 16;
  const bool in_floats = near && dtype.bits <= 16;
  if (in_floats && to_even && compute == kFloat32 && zero_points.size() == 1)
    return quantized_by_sum(cast(data, compute), params, dtype);
  Formula quotient = cast(data, compute) / cast(params.scale, compute);
  quotient = where(is_nan(quotient), Formula::real(0, compute), quotient);
  Formula steps = to_even ? rounded_to_even(quotient) : apply("round", quotient);
  if (in_floats) return saturate(steps, params.zero_point, dtype);
  Formula integers = cast(clip(steps, -0x1p40, 0x1p40), kInt64);
  return saturate(integers, params.zero_point, dtype);
}

}  // namespace relay
