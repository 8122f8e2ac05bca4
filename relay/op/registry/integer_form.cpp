#include <relay/op/registry/integer_form.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <relay/op/qnn/qnn_attrs.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/forms.h>
#include <relay/op/registry/formula.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/support/error.h>

namespace relay {

OpColumn<IntegerFormFn>& integer_forms() {
  static auto* column = new OpColumn<IntegerFormFn>("integer_form");
  return *column;
}
OpColumn<bool>& averages() {
  static auto* column = new OpColumn<bool>("averages");
  return *column;
}
OpColumn<bool>& optional_integer_forms() {
  static auto* column = new OpColumn<bool>("optional_integer_form");
  return *column;
}
OpColumn<ChannelAxesFn>& channel_axes() {
  static auto* column = new OpColumn<ChannelAxesFn>("channel_axes");
  return *column;
}

namespace {

struct AttachedForms {
  std::shared_mutex mutex;
  std::unordered_map<const Operator*, IntegerFormFn> forms[2];

  static AttachedForms& instance() {
    static auto* forms = new AttachedForms;
    return *forms;
  }
};

bool same_constant(const ExprRef& a, const ExprRef& b) {
  if (a == b) return true;
  const auto* x = a->as<Constant>();
  const auto* y = b->as<Constant>();
  if (x == nullptr || y == nullptr) return false;
  const NDArray& left = x->data();
  const NDArray& right = y->data();
  if (left.dtype() != right.dtype() || left.size() != right.size()) return false;
  for (int64_t i = 0; i < left.size(); ++i) {
    if (left.element_as_double(i) != right.element_as_double(i)) return false;
  }
  return true;
}

std::vector<TypeRef> quantised_tensors(const TypeRef& type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return {type};
  return {tuple->fields().begin(), tuple->fields().end()};
}

const TensorType* float_tensor(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_dtype() && tensor->dtype().is_float() ? tensor : nullptr;
}

ExprRef call_on(const Operator* op, std::span<const ExprRef> args, AttrsRef attrs, Span span) {
  return make_call(make_op(op), args, std::move(attrs), {}, span);
}

/// The type of the tensors, with the integers' dtype in the place of that of floats.
TypeRef stored_type(const TypeRef& type, const std::vector<std::optional<Affine>>& tensors) {
  std::vector<TypeRef> fields = quantised_tensors(type);
  for (size_t i = 0; i < fields.size(); ++i) {
    if (tensors.at(i))
      fields[i] =
          TensorType::make(fields[i]->as<TensorType>()->shape(), BaseType::make(tensors[i]->dtype));
  }
  return type->is<TupleType>() ? TypeRef(TupleType::make(std::move(fields))) : fields[0];
}

/// Changes the fields of a value that is a tuple, or the value.
QuantisedValue changed(const QuantisedValue& value, const TypeRef& type,
                       const std::function<std::pair<ExprRef, std::optional<Affine>>(
                           const ExprRef&, const std::optional<Affine>&, size_t)>& change) {
  if (!type->is<TupleType>()) {
    auto [expr, affine] = change(value.expr, value.tensors[0], 0);
    return {expr, {affine}};
  }
  const auto* written = value.expr->as<Tuple>();
  QuantisedValue result;
  std::vector<ExprRef> fields;
  bool same = true;
  for (size_t i = 0; i < value.tensors.size(); ++i) {
    ExprRef field = written != nullptr ? written->fields()[i]
                                       : make_projection(value.expr, static_cast<uint32_t>(i));
    auto [expr, affine] = change(field, value.tensors[i], i);
    same = same && expr == field;
    fields.push_back(expr);
    result.tensors.push_back(affine);
  }
  result.expr = same ? value.expr : make_tuple(fields);
  return result;
}

// ---- Elements that are moved ------------------------------------------------------------------

/// The affine of the result of a call that moves elements.
std::optional<Affine> moved_affine(const OpCall& call, Affine affine) {
  if (!affine.vector) return affine;
  if (layout_rule(call) == LayoutRule::kFollows) return affine;
  if (!call.attrs_ref() || !call.attrs_ref()->is<TransposeAttrs>()) return std::nullopt;
  const auto& axes = call.attrs<TransposeAttrs>().axes;
  const auto rank = static_cast<int64_t>(call.tensor(0).rank());
  const int64_t axis = affine.axis < 0 ? affine.axis + rank : affine.axis;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from = axes ? ((*axes)[static_cast<size_t>(i)] + rank) % rank : rank - 1 - i;
    if (from == axis) affine.axis = i;
  }
  return affine;
}

std::optional<QuantisedResult> moving_form(const QuantisedCall& use) {
  const OpCall& call = use.call;
  const Affine* first = nullptr;
  bool differ = false;
  for (const QuantisedValue& input : use.inputs) {
    for (const auto& tensor : input.tensors) {
      if (!tensor) continue;
      if (first == nullptr) first = &*tensor;
      differ = differ || !same_affine(*first, *tensor);
    }
  }
  if (first == nullptr) return std::nullopt;
  // Among several scales, that of the result: no number is lost that the result could hold.
  const bool chosen = differ && use.result != nullptr;
  if (differ && use.result == nullptr) return std::nullopt;
  const Affine common = chosen ? *use.result : *first;
  if (differ && common.vector) return std::nullopt;
  std::optional<Affine> kept = moved_affine(call, common);
  if (!kept || (common.vector && use.inputs.size() > 1)) return std::nullopt;
  std::vector<ExprRef> args;
  for (size_t i = 0; i < use.inputs.size(); ++i) {
    const std::vector<TypeRef> types = quantised_tensors(call.input(i));
    args.push_back(changed(use.inputs[i], call.input(i),
                           [&](const ExprRef& expr, const std::optional<Affine>& affine,
                               size_t k) -> std::pair<ExprRef, std::optional<Affine>> {
                             if (affine)
                               return {requantized(expr, *affine, common, use.span), common};
                             if (float_tensor(types[k]) == nullptr) return {expr, std::nullopt};
                             return {quantized_as(expr, common, use.span), common};
                           })
                       .expr);
  }
  QuantisedResult result;
  for (const TypeRef& type : quantised_tensors(call.output()))
    result.value.tensors.push_back(float_tensor(type) != nullptr ? kept : std::nullopt);
  result.value.expr = call_on(call.op(), args, call.attrs_ref(), use.span);
  result.chosen = chosen;
  return result;
}

// ---- Operators on quantised numbers -----------------------------------------------------------

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// The role of an input of an operator on quantised numbers: `lhs_scale`, `output_zero_point`,
/// `input_scales`, or a tensor.
struct Parameter {
  bool scale = false;
  bool zero_point = false;
  bool result = false;
  size_t input = 0;  // that it is of, among the tensors
};

std::vector<Parameter> parameters_of(const Operator& op) {
  std::vector<Parameter> parameters;
  std::vector<std::string> tensors;
  for (const OpInput& input : op.inputs()) {
    std::string name = input.name.str();
    if (ends_with(name, "s") && (ends_with(name, "scales") || ends_with(name, "zero_points")))
      name.pop_back();
    Parameter parameter;
    parameter.scale = ends_with(name, "scale");
    parameter.zero_point = ends_with(name, "zero_point");
    if (!parameter.scale && !parameter.zero_point) {
      parameter.input = tensors.size();
      tensors.push_back(name);
    } else {
      const size_t tail = parameter.scale ? 5 : 10;
      std::string whose = name.substr(0, name.size() - tail);
      if (!whose.empty()) whose.pop_back();  // the underscore
      parameter.result = whose == "output";
      auto found = std::find(tensors.begin(), tensors.end(), whose);
      if (found != tensors.end()) parameter.input = static_cast<size_t>(found - tensors.begin());
    }
    parameters.push_back(parameter);
  }
  return parameters;
}

/// The affine with another dtype of as many bits, so that the same numbers fit.
std::optional<Affine> with_dtype(const Affine& affine, DType dtype) {
  if (affine.dtype == dtype) return affine;
  if (affine.dtype.bits != dtype.bits || affine.dtype.bits > 16) return std::nullopt;
  const auto* zero = affine.zero_point->as<Constant>();
  if (zero == nullptr || zero->data().size() != 1) return std::nullopt;
  const int64_t half = int64_t{1} << (dtype.bits - 1);
  const int64_t moved = zero->data().element_as_int64(0) + (dtype.is_unsigned() ? half : -half);
  Affine result = affine;
  result.dtype = dtype;
  result.zero_point = make_constant(NDArray::scalar<int32_t>(static_cast<int32_t>(moved)));
  return result;
}

/// The scale of a constant of floats: its greatest number is 127, or 2^20 beside sums of 32 bits.
std::optional<Affine> affine_of_constant(const ExprRef& expr, DType dtype) {
  const auto* constant = expr->as<Constant>();
  if (constant == nullptr) return std::nullopt;
  double most = 0;
  for (int64_t i = 0; i < constant->data().size(); ++i) {
    const double number = std::abs(constant->data().element_as_double(i));
    if (!std::isfinite(number)) return std::nullopt;
    most = std::max(most, number);
  }
  const double steps = dtype == kInt32 ? 0x1p20 : 127;
  const auto scale = static_cast<float>(most > 0 ? most / steps : 1);
  if (!(scale >= std::numeric_limits<float>::min())) return std::nullopt;
  return Affine{make_constant(NDArray::scalar<float>(scale)),
                make_constant(NDArray::scalar<int32_t>(0)), dtype};
}

/// Attributes of the operator on integers: those of the call by name, the axes of vectors, and
/// int32 for sums.
AttrsRef attributes_for(const Operator& form, const OpCall& call,
                        const std::vector<Parameter>& parameters,
                        std::span<const QuantisedValue> inputs) {
  const AttrsSchema* schema = form.attrs_schema();
  if (schema == nullptr) return {};
  std::vector<NamedAttr> given;
  std::vector<NamedAttr> old =
      call.attrs_ref() ? call.attrs_ref()->fields(true) : std::vector<NamedAttr>();
  for (const AttrField& field : schema->fields) {
    if (field.name.view() == "out_dtype") {
      given.push_back({field.name, AttrValue(kInt32), {}});
      continue;
    }
    for (NamedAttr& attr : old) {
      if (attr.name == field.name) given.push_back(attr);
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& one = parameters[i];
      if (one.scale || one.zero_point || inputs[one.input].tensors.size() != 1) continue;
      const auto& affine = inputs[one.input].tensors[0];
      if (affine && affine->vector && field.name.str() == form.inputs()[i].name.str() + "_axis")
        given.push_back({field.name, AttrValue(affine->axis), {}});
    }
  }
  return Attrs::make(*schema, given, {});
}

/// The inputs on integers of one dtype, if the operator has a scale for its result; constants get
/// a scale.
bool prepare_inputs(const QuantisedCall& use, std::vector<QuantisedValue>& inputs,
                    const Affine* result) {
  bool sums = false;
  for (const QuantisedValue& input : inputs) {
    for (const auto& tensor : input.tensors) sums |= tensor && tensor->dtype == kInt32;
  }
  DType dtype;
  bool mixed = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<TypeRef> types = quantised_tensors(use.call.input(i));
    bool fine = true;
    inputs[i] = changed(inputs[i], use.call.input(i),
                        [&](const ExprRef& expr, const std::optional<Affine>& affine,
                            size_t k) -> std::pair<ExprRef, std::optional<Affine>> {
                          std::optional<Affine> own = affine;
                          ExprRef integers = expr;
                          if (!own) {
                            if (result == nullptr) fine = false;  // weights are not made coarser
                            own = float_tensor(types[k]) == nullptr
                                      ? std::nullopt
                                      : affine_of_constant(expr, sums ? kInt32 : kInt8);
                            fine = fine && own;
                            if (!own) return {expr, own};
                            integers = quantized_as(expr, *own, use.span);
                          }
                          mixed = mixed || (dtype.valid() && dtype != own->dtype);
                          dtype = own->dtype;
                          return {integers, own};
                        });
    if (!fine) return false;
  }
  // Operands of several dtypes are widened: results are cut off to the range in the end only.
  if (result == nullptr || !mixed) return true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = changed(inputs[i], use.call.input(i),
                        [&](const ExprRef& expr, const std::optional<Affine>& affine,
                            size_t) -> std::pair<ExprRef, std::optional<Affine>> {
                          if (affine->dtype == kInt32) return {expr, affine};
                          Affine wide = *affine;
                          wide.dtype = kInt32;
                          return {make_cast(expr, kInt32, use.span), wide};
                        });
  }
  return true;
}

ExprRef parameter_of(const QuantisedValue& value, bool scale, const TypeRef& type) {
  std::vector<ExprRef> fields;
  for (const auto& tensor : value.tensors)
    fields.push_back(scale ? tensor->scale : tensor->zero_point);
  return type->is<TupleType>() ? make_tuple(fields) : fields[0];
}

std::optional<QuantisedResult> operator_form(const QuantisedCall& use, const Operator& form) {
  const OpCall& call = use.call;
  const std::vector<Parameter> parameters = parameters_of(form);
  const bool scaled = std::any_of(parameters.begin(), parameters.end(),
                                  [](const Parameter& one) { return one.result; });
  if (scaled && (use.result == nullptr || use.result->vector)) return std::nullopt;
  std::vector<QuantisedValue> inputs(use.inputs.begin(), use.inputs.end());
  if (!prepare_inputs(use, inputs, scaled ? use.result : nullptr)) return std::nullopt;
  for (const Parameter& one : parameters) {
    if (one.input >= inputs.size()) return std::nullopt;
  }
  QuantisedResult result;
  result.chosen = scaled;
  std::optional<Affine> affine;
  if (scaled) {
    const DType dtype = inputs[0].tensors[0]->dtype;
    affine = dtype == kInt32 ? *use.result : with_dtype(*use.result, dtype);
    if (!affine) return std::nullopt;
    affine->dtype = dtype;
  } else {
    if (inputs.size() != 2) return std::nullopt;
    const Affine& data = *inputs[0].tensors[0];
    const Affine& weight = *inputs[1].tensors[0];
    if (data.vector) return std::nullopt;
    const ChannelAxesFn* channels = channel_axes().find(&form);
    std::optional<ChannelAxes> axes = channels == nullptr ? std::nullopt : (*channels)(call);
    const auto rank = static_cast<int64_t>(call.tensor(1).rank());
    if (weight.vector && (!axes || (weight.axis + rank) % rank != axes->weight))
      return std::nullopt;
    affine = Affine{product_of_scales(data.scale, weight.scale),
                    make_constant(NDArray::scalar<int32_t>(0)), kInt32, axes ? axes->result : -1,
                    weight.vector};
  }
  std::vector<ExprRef> args;
  for (const Parameter& one : parameters) {
    if (one.result) {
      args.push_back(one.scale ? affine->scale : affine->zero_point);
    } else if (one.scale || one.zero_point) {
      args.push_back(parameter_of(inputs[one.input], one.scale, call.input(one.input)));
    } else {
      args.push_back(inputs[one.input].expr);
    }
  }
  AttrsRef attrs = attributes_for(form, call, parameters, inputs);
  // The relation has the last word.
  std::vector<TypeRef> types;
  for (const Parameter& one : parameters) {
    if (!one.scale && !one.zero_point) {
      types.push_back(stored_type(call.input(one.input), inputs[one.input].tensors));
      continue;
    }
    auto of = [&](const Affine& from) {
      const bool vector =
          from.vector && (one.scale ? from.scale : from.zero_point)->is<Constant>() &&
          (one.scale ? from.scale : from.zero_point)->as<Constant>()->data().rank() == 1;
      const DType dtype = one.scale ? kFloat32 : kInt32;
      std::vector<Dim> dims;
      if (vector) {
        const ExprRef& expr = one.scale ? from.scale : from.zero_point;
        dims.emplace_back(expr->as<Constant>()->data().shape()[0]);
      }
      return TypeRef(TensorType::make(dims, dtype));
    };
    if (one.result) {
      types.push_back(of(*affine));
    } else if (call.input(one.input)->is<TupleType>()) {
      std::vector<TypeRef> fields;
      for (const auto& tensor : inputs[one.input].tensors) fields.push_back(of(*tensor));
      types.emplace_back(TupleType::make(std::move(fields)));
    } else {
      types.push_back(of(*inputs[one.input].tensors[0]));
    }
  }
  TypeRef found = infer_call_type(&form, types, attrs);
  const auto* tensor = found ? found->as<TensorType>() : nullptr;
  if (tensor == nullptr || tensor->shape() != call.output()->as<TensorType>()->shape())
    return std::nullopt;
  affine->dtype = tensor->dtype();
  result.value = {call_on(&form, args, attrs, use.span), {affine}};
  return result;
}

std::optional<QuantisedResult> average_form(const QuantisedCall& use) {
  if (use.inputs.size() != 1 || !use.inputs[0].tensors[0] || use.inputs[0].tensors[0]->vector)
    return std::nullopt;
  Affine affine = *use.inputs[0].tensors[0];
  Formula data{use.inputs[0].expr, affine.dtype};
  if (affine.dtype.bits <= 16) {
    // Averages of integers are cut off toward zero, of which so many bits leave little.
    constexpr int kBits = 8;
    auto narrow = std::make_shared<const Affine>(affine);
    data = cast(data, kInt32) * (int64_t{1} << kBits);
    std::optional<Affine> wide = finer(affine, kBits);
    if (!wide) return std::nullopt;
    affine = std::move(*wide);
    affine.narrow = std::move(narrow);
  }
  const ExprRef args[] = {data.expr};
  const ExprRef average = call_on(use.call.op(), args, use.call.attrs_ref(), use.span);
  return QuantisedResult{{average, {affine}}, false};
}

std::optional<QuantisedResult> derived_form(const QuantisedCall& use) {
  if (const IntegerFormFn* declared = integer_forms().find(use.call.op())) return (*declared)(use);
  if (averages().find(use.call.op()) != nullptr) return average_form(use);
  const Operator* form = quantised_form(*use.call.op());
  const QuantisedRule rule = quantised_rule(use.call);
  if (form != nullptr && rule != QuantisedRule::kQuantised) return operator_form(use, *form);
  return rule == QuantisedRule::kKeeps ? moving_form(use) : std::nullopt;
}

/// Null if the operator does not work on such integers.
std::optional<QuantisedResult> derived_if_typed(const QuantisedCall& use) {
  for (const QuantisedValue& input : use.inputs) {
    for (const auto& tensor : input.tensors) {
      if (tensor && !tensor->dtype.is_integer()) return std::nullopt;
    }
  }
  try {
    return derived_form(use);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool has_narrow(const QuantisedCall& use) {
  for (const QuantisedValue& input : use.inputs) {
    for (const auto& tensor : input.tensors) {
      if (tensor && tensor->narrow) return true;
    }
  }
  return false;
}

}  // namespace

bool same_affine(const Affine& a, const Affine& b) {
  return a.dtype == b.dtype && a.vector == b.vector && (!a.vector || a.axis == b.axis) &&
         same_constant(a.scale, b.scale) && same_constant(a.zero_point, b.zero_point);
}

bool keeps_scale(const OpCall& call) {
  const QuantisedRule rule = quantised_rule(call);
  if (rule == QuantisedRule::kConstants) return true;
  return averages().find(call.op()) != nullptr || rule == QuantisedRule::kKeeps;
}

std::optional<QuantisedResult> with_narrow_inputs(const QuantisedCall& use,
                                                  const IntegerFormFn& form) {
  if (!has_narrow(use)) return form(use);
  std::vector<QuantisedValue> inputs;
  for (size_t i = 0; i < use.inputs.size(); ++i) {
    inputs.push_back(
        changed(use.inputs[i], use.call.input(i),
                [&](const ExprRef& expr, const std::optional<Affine>& affine,
                    size_t) -> std::pair<ExprRef, std::optional<Affine>> {
                  if (!affine || !affine->narrow) return {expr, affine};
                  return {requantized(expr, *affine, *affine->narrow, use.span), *affine->narrow};
                }));
  }
  return form({use.call, inputs, use.result, use.span});
}

std::optional<QuantisedResult> integer_form(const QuantisedCall& use) {
  if (IntegerFormFn attached = attached_integer_form(use.call.op(), false))
    return with_narrow_inputs(use, attached);
  if (!use.call.op()->pure()) return std::nullopt;
  std::optional<QuantisedResult> form = derived_if_typed(use);
  if (form || !has_narrow(use)) return form;
  return with_narrow_inputs(use, derived_if_typed);
}

void attach_integer_form(const Operator* op, IntegerFormFn form, bool optional) {
  AttachedForms& attached = AttachedForms::instance();
  IntegerFormFn old;
  std::unique_lock lock(attached.mutex);
  IntegerFormFn& entry = attached.forms[optional ? 1 : 0][op];
  old = std::move(entry);
  entry = std::move(form);
  lock.unlock();
}

IntegerFormFn attached_integer_form(const Operator* op, bool optional) {
  AttachedForms& attached = AttachedForms::instance();
  std::shared_lock lock(attached.mutex);
  auto& forms = attached.forms[optional ? 1 : 0];
  auto found = forms.find(op);
  return found == forms.end() ? IntegerFormFn() : found->second;
}

ExprRef requantized(const ExprRef& value, const Affine& from, const Affine& to, Span span) {
  if (same_affine(from, to)) return value;
  const ExprRef args[] = {value, from.scale, from.zero_point, to.scale, to.zero_point};
  RequantizeAttrs attrs;
  attrs.axis = from.vector || !to.vector ? from.axis : to.axis;
  attrs.out_dtype = to.dtype;
  return call_on(get_op("qnn.requantize"), args, Attrs::make(attrs), span);
}

ExprRef quantized_as(const ExprRef& value, const Affine& to, Span span) {
  const ExprRef args[] = {value, to.scale, to.zero_point};
  QuantizeAttrs attrs;
  attrs.out_dtype.value = to.dtype;
  attrs.axis = to.axis;
  return call_on(get_op("qnn.quantize"), args, Attrs::make(attrs), span);
}

ExprRef dequantized_from(const ExprRef& value, const Affine& from, Span span) {
  const ExprRef args[] = {value, from.scale, from.zero_point};
  DequantizeAttrs attrs;
  attrs.axis = from.axis;
  return call_on(get_op("qnn.dequantize"), args, Attrs::make(attrs), span);
}

std::optional<Affine> finer(const Affine& affine, int bits) {
  Affine result = affine;
  result.dtype = kInt32;
  result.scale = product_of_scales(affine.scale,
                                   make_constant(NDArray::scalar<float>(std::ldexp(1.0F, -bits))));
  if (const auto* zero = affine.zero_point->as<Constant>()) {
    const int64_t moved = zero->data().element_as_int64(0) * (int64_t{1} << bits);
    if (moved != static_cast<int32_t>(moved)) return std::nullopt;
    result.zero_point = make_constant(NDArray::scalar<int32_t>(static_cast<int32_t>(moved)));
  } else {
    result.zero_point = (Formula{affine.zero_point, kInt32} * (int64_t{1} << bits)).expr;
  }
  return result;
}

ExprRef product_of_scales(const ExprRef& a, const ExprRef& b) {
  const auto* x = a->as<Constant>();
  const auto* y = b->as<Constant>();
  if (x != nullptr && y != nullptr && (x->data().size() == 1 || y->data().size() == 1)) {
    const NDArray& many = x->data().size() == 1 ? y->data() : x->data();
    const NDArray& one = x->data().size() == 1 ? x->data() : y->data();
    NDArray result = NDArray::empty(many.shape(), kFloat32);
    const auto factor = static_cast<float>(one.element_as_double(0));
    for (int64_t i = 0; i < many.size(); ++i)
      result.data<float>()[i] = static_cast<float>(many.element_as_double(i)) * factor;
    return make_constant(result);
  }
  const ExprRef args[] = {a, b};
  return call_on(get_op("multiply"), args, {}, {});
}

}  // namespace relay
