#include <relay/op/qnn/integer_forms.h>

#include <algorithm>
#include <cmath>

#include <relay/op/nn/nn_attrs.h>
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

/// An integer for each channel of a tensor of that rank, beside which it broadcasts, from the
/// channel's scale and zero point; null unless both are known.
ExprRef of_channels(const Affine& affine, size_t rank,
                    const std::function<double(double scale, double zero)>& number) {
  const auto* scale = affine.scale->as<Constant>();
  const auto* zero = affine.zero_point->as<Constant>();
  if (scale == nullptr || zero == nullptr) return {};
  const int64_t count = std::max(scale->data().size(), zero->data().size());
  const auto dims = static_cast<int64_t>(rank);
  const int64_t axis = affine.axis < 0 ? affine.axis + dims : affine.axis;
  if (axis < 0 || axis >= dims) return {};
  std::vector<int64_t> shape(static_cast<size_t>(dims - axis), 1);
  shape[0] = count;
  const auto [low, high] = integer_range(affine.dtype);
  NDArray numbers = NDArray::empty(shape, affine.dtype);
  for (int64_t i = 0; i < count; ++i) {
    auto element = [&](const NDArray& of) { return of.element_as_double(of.size() == 1 ? 0 : i); };
    const double step = element(scale->data());
    if (!(step > 0)) return {};
    const double value = std::clamp(number(step, element(zero->data())), static_cast<double>(low),
                                    static_cast<double>(high));
    dispatch(affine.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) numbers.data<T>()[i] = static_cast<T>(value);
    });
  }
  return make_constant(std::move(numbers));
}

/// The same as a sum, whose form is known.
std::optional<QuantisedResult> bias_as_sum(const QuantisedCall& use) {
  const te::TensorInfo data = use.call.tensor(0);
  const te::TensorInfo bias = use.call.tensor(1);
  const int64_t rank = static_cast<int64_t>(data.rank());
  const int64_t axis = (use.call.attrs<BiasAddAttrs>().axis + rank) % rank;
  QuantisedValue inputs[] = {use.inputs[0], use.inputs[1]};
  std::vector<Dim> dims = bias.dims;
  if (const int64_t behind = rank - 1 - axis; behind > 0) {
    ExpandDimsAttrs attrs;
    attrs.axis.value = 1;
    attrs.num_newaxis = behind;
    inputs[1].expr = call_op("expand_dims", {inputs[1].expr}, Attrs::make(attrs), use.span);
    dims.resize(static_cast<size_t>(behind) + 1, Dim(1));
  }
  const OpCall sum(get_op("add"), AttrsRef(),
                   {TypeRef(use.call.input(0)), TensorType::make(dims, bias.dtype)},
                   TypeRef(use.call.output()));
  return integer_form({sum, inputs, use.result, use.span});
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
    zero = of_channels(*affine, use.call.tensor(0).rank(), [](double, double at) { return at; });
    if (!zero) return std::nullopt;
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
    const auto range = integer_range(affine->dtype);
    auto bound = [&](double value) {
      const double q = std::round(value / *scale) + *zero;
      return std::clamp(q, static_cast<double>(range.first), static_cast<double>(range.second));
    };
    ClipAttrs bounds = attrs;
    bounds.a_min.value = bound(attrs.a_min);
    bounds.a_max.value = bound(attrs.a_max);
    return QuantisedResult{
        {call_op("clip", {use.inputs[0].expr}, Attrs::make(bounds), use.span), {affine}}, false};
  }
  auto bound = [&](double value) -> ExprRef {
    if (affine->vector) {
      return of_channels(*affine, use.call.tensor(0).rank(),
                         [&](double step, double at) { return std::round(value / step) + at; });
    }
    ExprRef number = make_constant(NDArray::scalar(kFloat32, value));
    return quantized_as(number, *affine, use.span);
  };
  const ExprRef least = bound(attrs.a_min), most = bound(attrs.a_max);
  if (!least || !most) return std::nullopt;
  ExprRef above = call_op("maximum", {use.inputs[0].expr, least}, {}, use.span);
  return QuantisedResult{{call_op("minimum", {above, most}, {}, use.span), {affine}}, false};
}

std::optional<QuantisedResult> bias_on_integers(const QuantisedCall& use) {
  std::optional<Affine> data = one_tensor(use.inputs[0]);
  if (!data) return std::nullopt;
  if (data->dtype != kInt32) return bias_as_sum(use);
  data->narrow = nullptr;  // the sum may be too large for it
  Affine wanted = *data;
  wanted.axis = 0;
  std::optional<Affine> bias = one_tensor(use.inputs[1]);
  ExprRef own = bias ? requantized(use.inputs[1].expr, *bias, wanted, use.span)
                     : quantized_as(use.inputs[1].expr, wanted, use.span);
  const ExprRef args[] = {use.inputs[0].expr, own};
  ExprRef sum = make_call(make_op(use.call.op()), args, use.call.attrs_ref(), {}, use.span);
  return QuantisedResult{{sum, {data}}, false};
}

std::optional<QuantisedResult> interpolated_on_integers(const QuantisedCall& use) {
  std::optional<Affine> affine = one_tensor(use.inputs[0]);
  if (use.inputs.size() != 1 || !affine || affine->vector || affine->dtype.bits > 16)
    return std::nullopt;
  // Integers are cut off toward zero, of which more bits leave little.
  const int bits = affine->dtype.bits > 8 ? 2 : 8;
  Formula data = cast(Formula{use.inputs[0].expr, affine->dtype}, kInt32) -
                 Formula{affine->zero_point, kInt32};
  const ExprRef args[] = {(data * (int64_t{1} << bits)).expr};
  ExprRef result = make_call(make_op(use.call.op()), args, use.call.attrs_ref(), {}, use.span);
  affine->zero_point = make_constant(NDArray::scalar<int32_t>(0));
  return QuantisedResult{{result, {finer(*affine, bits)}}, false};
}

}  // namespace relay
