// Tensors that are made in the shape of others, and tensors of one number.
#include <limits>

#include <relay/op/registry/simplify.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

/// Shape and dtype as attributes, if every extent is a number.
std::optional<InitOpAttrs> known_shape(const te::TensorInfo& info, bool dtype) {
  InitOpAttrs attrs;
  attrs.shape.emplace();
  for (const Dim& dim : info.dims) {
    if (!dim.is_int()) return std::nullopt;
    attrs.shape->push_back(dim.as_int());
  }
  if (dtype) attrs.dtype = info.dtype;
  return attrs;
}

/// A rule that calls `op` with the first `inputs` arguments from `first` on and the result's shape.
SimplifyFn with_shape(std::string_view op, size_t first, size_t inputs, bool dtype) {
  return [=](const OpCall& call, std::span<const ExprRef> args) -> ExprRef {
    std::optional<InitOpAttrs> attrs = known_shape(call.result(), dtype);
    if (!attrs) return {};
    return call_op(op, args.subspan(first, inputs), Attrs::make(std::move(*attrs)));
  };
}

ExprRef known_sums(const OpCall& call, std::span<const ExprRef> args) {
  std::optional<InitOpAttrs> attrs = known_shape(call.result(), false);
  if (!attrs || attrs->shape->empty()) return {};
  bool narrow = true;
  for (int64_t extent : *attrs->shape) narrow &= extent <= std::numeric_limits<int32_t>::max();
  NDArray shape =
      NDArray::empty({static_cast<int64_t>(attrs->shape->size())}, narrow ? kInt32 : kInt64);
  for (size_t i = 0; i < attrs->shape->size(); ++i) {
    if (narrow) {
      shape.data<int32_t>()[i] = static_cast<int32_t>((*attrs->shape)[i]);
    } else {
      shape.data<int64_t>()[i] = (*attrs->shape)[i];
    }
  }
  return call_op("collapse_sum_to", {args[0], make_constant(std::move(shape))},
                 Attrs::make(std::move(*attrs)));
}

/// The number of which a call makes a tensor, as a scalar; null for other expressions.
ExprRef number_of(const ExprRef& made) {
  if (auto full = tensor_call(made.get(), "full")) {
    if (full->tensor(0).dtype != full->result().dtype || full->result().rank() == 0) return {};
    return static_cast<const Call&>(*made).args()[0];
  }
  for (const auto& [op, number] : {std::pair("zeros", 0.0), std::pair("ones", 1.0)}) {
    std::optional<OpCall> call = tensor_call(made.get(), op);
    if (!call || call->result().rank() == 0) continue;
    return make_constant(NDArray::scalar(call->result().dtype, number));
  }
  return {};
}

/// A tensor of one number beside one that has the result's shape already: the number will do.
ExprRef number_beside(const OpCall& call, std::span<const ExprRef> args) {
  if (call.output()->has_any_dim()) return {};
  for (size_t i : {1u, 0u}) {
    const auto* other = call.input(1 - i)->as<TensorType>();
    if (!(other->shape() == call.output()->as<TensorType>()->shape())) continue;
    ExprRef number = number_of(args[i]);
    if (!number) continue;
    std::vector<ExprRef> changed(args.begin(), args.end());
    changed[i] = std::move(number);
    return call_op(call.op()->name().view(), changed);
  }
  return {};
}

}  // namespace

std::span<const OperatorRule> creation_rules() {
  // clang-format off
  static const OperatorRule kRules[] = {
      {"zeros_like",        {"zeros, shape known",        Keeps::kBits, with_shape("zeros", 0, 0, true)}},
      {"ones_like",         {"ones, shape known",         Keeps::kBits, with_shape("ones", 0, 0, true)}},
      {"full_like",         {"full, shape known",         Keeps::kBits, with_shape("full", 1, 1, true)}},
      {"broadcast_to_like", {"broadcast, shape known",    Keeps::kBits, with_shape("broadcast_to", 0, 1, false)}},
      {"collapse_sum_like", {"sums, shape known",         Keeps::kBits, known_sums}},
      {"add",               {"tensor of one number beside", Keeps::kBits, number_beside}},
      {"subtract",          {"tensor of one number beside", Keeps::kBits, number_beside}},
      {"multiply",          {"tensor of one number beside", Keeps::kBits, number_beside}},
      {"divide",            {"tensor of one number beside", Keeps::kBits, number_beside}},
      {"maximum",           {"tensor of one number beside", Keeps::kBits, number_beside}},
      {"minimum",           {"tensor of one number beside", Keeps::kBits, number_beside}},
      {"power",             {"tensor of one number beside", Keeps::kBits, number_beside}},
  };
  // clang-format on
  return kRules;
}

}  // namespace relay
