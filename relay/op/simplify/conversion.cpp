// Conversions that change nothing, and bounds that no number passes.
#include <cmath>
#include <limits>

#include <relay/op/qnn/qnn_attrs.h>
#include <relay/op/registry/simplify.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

struct Range {
  double least, most;
};

/// The integers of a dtype; bool is 0 and 1.
std::optional<Range> integers_of(DType dtype) {
  if (dtype.is_bool()) return Range{0, 1};
  if (dtype.is_float()) return std::nullopt;
  return dispatch(dtype, [](auto tag) {
    using T = ComputeType<typename decltype(tag)::type>;
    return Range{static_cast<double>(std::numeric_limits<T>::lowest()),
                 static_cast<double>(std::numeric_limits<T>::max())};
  });
}

/// Digits of a float's significand and its exponents.
struct FloatFormat {
  int digits, exponents;
};
FloatFormat format_of(DType dtype) {
  if (dtype == kFloat64) return {53, 11};
  if (dtype == kFloat32) return {24, 8};
  return dtype == kFloat16 ? FloatFormat{11, 5} : FloatFormat{8, 8};
}

/// True if `to` has every number of `from`.
bool holds(DType to, DType from) {
  if (to == from) return true;
  if (from.is_float()) {
    if (!to.is_float()) return false;
    FloatFormat a = format_of(from), b = format_of(to);
    return a.digits <= b.digits && a.exponents <= b.exponents;
  }
  if (to.is_bool()) return false;
  Range range = *integers_of(from);
  if (!to.is_float()) {
    Range wide = *integers_of(to);
    // As doubles the ends of 64-bit integers are not exact, but such dtypes differ by more.
    return wide.least <= range.least && range.most <= wide.most;
  }
  double exact = std::exp2(format_of(to).digits);
  double largest = to == kFloat16 ? 65504 : exact;
  return -range.least <= std::min(exact, largest) && range.most <= std::min(exact, largest);
}

ExprRef same_dtype(const OpCall& call, std::span<const ExprRef> args) {
  return call.tensor(0).dtype == call.result().dtype ? args[0] : ExprRef();
}

ExprRef cast_to(const ExprRef& data, DType dtype) {
  return call_op("cast", {data}, Attrs::make(CastAttrs{{dtype}}));
}

/// cast(cast(x, b), c), where b has every number of x: the inner cast changes nothing, and the
/// result of the outer one depends on the number alone, unless a float takes an integer's place and
/// the number does not fit.
ExprRef two_casts(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<OpCall> inner = tensor_call(args[0].get(), "cast");
  if (!inner) return {};
  DType from = inner->tensor(0).dtype, middle = inner->result().dtype, to = call.result().dtype;
  if (!holds(middle, from)) return {};
  if (from.is_float() != middle.is_float() && !holds(to, from)) return {};
  const ExprRef& data = first_arg(args[0]);
  return to == from ? data : cast_to(data, to);
}

ExprRef known_dtype(const OpCall& call, std::span<const ExprRef> args) {
  return cast_to(args[0], call.result().dtype);
}

/// The bounds of a clip of integers.
std::optional<Range> bounds_of(const OpCall& call) {
  const auto& attrs = call.attrs<ClipAttrs>();
  if (call.result().dtype.is_float()) return std::nullopt;
  return Range{std::trunc(*attrs.a_min), std::trunc(*attrs.a_max)};
}

ExprRef wide_clip(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<Range> bounds = bounds_of(call);
  std::optional<Range> all = integers_of(call.result().dtype);
  bool wide = bounds && all && bounds->least <= all->least && all->most <= bounds->most;
  return wide ? args[0] : ExprRef();
}

/// cast(cast(clip(x), b), a): integers that b has all come back.
ExprRef clip_and_back(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<OpCall> inner = tensor_call(args[0].get(), "cast");
  if (!inner || inner->tensor(0).dtype != call.result().dtype) return {};
  const ExprRef& data = first_arg(args[0]);
  std::optional<OpCall> clip = tensor_call(data.get(), "clip");
  std::optional<Range> bounds = clip ? bounds_of(*clip) : std::nullopt;
  std::optional<Range> middle = integers_of(inner->result().dtype);
  if (!bounds || !middle || bounds->least > bounds->most) return {};
  return middle->least <= bounds->least && bounds->most <= middle->most ? data : ExprRef();
}

/// The place of the largest among numbers is that among the integers that stand for them, if the
/// scale is positive and no two integers give one number.
ExprRef of_quantised(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<OpCall> inner = tensor_call(args[0].get(), "qnn.dequantize");
  if (!inner || inner->tensor(0).dtype.size() != 1 || inner->result().dtype != kFloat32) return {};
  std::span<const ExprRef> parts = static_cast<const Call&>(*args[0]).args();
  const auto* scale = parts[1]->as<Constant>();
  if (scale == nullptr || scale->data().size() != 1) return {};
  if (inner->tensor(2).rank() != 0) return {};
  double step = scale->data().element_as_double(0);
  if (!(step > 1e-30 && step < 1e30)) return {};
  // A zero point far away would swallow them.
  const auto* zero = parts[2]->as<Constant>();
  if (zero == nullptr || std::abs(zero->data().element_as_double(0)) > 1e6) return {};
  std::vector<ExprRef> same(args.begin(), args.end());
  same[0] = parts[0];
  return call_op(call.op()->name().view(), same, call.attrs_ref());
}

}  // namespace

std::span<const OperatorRule> conversion_rules() {
  // clang-format off
  static const OperatorRule kRules[] = {
      {"cast_like", {"dtype of another, known",       Keeps::kBits, known_dtype}},
      {"cast",      {"cast to the same",              Keeps::kBits, same_dtype}},
      {"cast",      {"clip, cast and back",           Keeps::kBits, clip_and_back}},
      {"cast",      {"cast of a wider one",           Keeps::kBits, two_casts}},
      {"clip",      {"bounds around all integers",    Keeps::kBits, wide_clip}},
      {"argmax",    {"largest of quantised numbers",  Keeps::kBits, of_quantised}},
      {"argmin",    {"least of quantised numbers",    Keeps::kBits, of_quantised}},
      {"argsort",   {"order of quantised numbers",    Keeps::kBits, of_quantised}},
  };
  // clang-format on
  return kRules;
}

}  // namespace relay
