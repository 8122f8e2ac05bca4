#include <relay/op/qnn/integer_forms.h>

#include <algorithm>
#include <cmath>

#include <relay/op/qnn/quantised.h>
#include <relay/op/registry/forms.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

/// The number of a constant with one element.
std::optional<double> known_number(const ExprRef& expr) {
  const auto* constant = expr->as<Constant>();
  if (constant == nullptr || constant->data().size() != 1) return std::nullopt;
  return constant->data().element_as_double(0);
}

std::optional<Affine> one_tensor(const QuantisedValue& value) {
  return value.tensors.size() == 1 ? value.tensors[0] : std::nullopt;
}

}  // namespace

std::optional<QuantisedResult> relu_on_integers(const QuantisedCall& use) {
  std::optional<Affine> affine = one_tensor(use.inputs[0]);
  if (!affine) return std::nullopt;
  ExprRef zero;
  if (std::optional<double> known = known_number(affine->zero_point)) {
    auto [low, high] = integer_range(affine->dtype);
    const double inside = std::clamp(*known, static_cast<double>(low), static_cast<double>(high));
    zero = make_constant(NDArray::scalar(affine->dtype, inside));
  } else if (!affine->vector) {
    zero = make_cast(affine->zero_point, affine->dtype, use.span);
  } else {
    return std::nullopt;
  }
  return QuantisedResult{{call_op("maximum", {use.inputs[0].expr, zero}, {}, use.span), {affine}},
                         false};
}

std::optional<QuantisedResult> clip_on_integers(const QuantisedCall& use) {
  std::optional<Affine> affine = one_tensor(use.inputs[0]);
  if (!affine) return std::nullopt;
  const auto& attrs = use.call.attrs<ClipAttrs>();
  std::optional<double> scale = known_number(affine->scale);
  std::optional<double> zero = known_number(affine->zero_point);
  if (!affine->vector && scale && zero && *scale > 0) {
    auto [low, high] = integer_range(affine->dtype);
    auto bound = [&](double value) {
      const double q = std::round(value / *scale) + *zero;
      return std::clamp(q, static_cast<double>(low), static_cast<double>(high));
    };
    ClipAttrs bounds = attrs;
    bounds.a_min.value = bound(attrs.a_min);
    bounds.a_max.value = bound(attrs.a_max);
    return QuantisedResult{
        {call_op("clip", {use.inputs[0].expr}, Attrs::make(bounds), use.span), {affine}}, false};
  }
  if (affine->vector) return std::nullopt;
  auto bound = [&](double value) {
    ExprRef number = make_constant(NDArray::scalar(kFloat32, value));
    return quantized_as(number, *affine, use.span);
  };
  ExprRef above = call_op("maximum", {use.inputs[0].expr, bound(attrs.a_min)}, {}, use.span);
  return QuantisedResult{{call_op("minimum", {above, bound(attrs.a_max)}, {}, use.span), {affine}},
                         false};
}

std::optional<QuantisedResult> bias_on_integers(const QuantisedCall& use) {
  std::optional<Affine> data = one_tensor(use.inputs[0]);
  if (!data || data->dtype != kInt32) return std::nullopt;
  Affine wanted = *data;
  wanted.axis = 0;
  std::optional<Affine> bias = one_tensor(use.inputs[1]);
  ExprRef own = bias ? requantized(use.inputs[1].expr, *bias, wanted, use.span)
                     : quantized_as(use.inputs[1].expr, wanted, use.span);
  const ExprRef args[] = {use.inputs[0].expr, own};
  ExprRef sum = make_call(make_op(use.call.op()), args, use.call.attrs_ref(), {}, use.span);
  return QuantisedResult{{sum, {data}}, false};
}

}  // namespace relay
