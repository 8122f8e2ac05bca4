#include <relay/transform/known_extents.h>

#include <algorithm>

#include <relay/eval/eval.h>
#include <relay/ir/tensor_types.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>
#include <relay/transform/op_calls.h>

namespace relay {

ExprRef known_extents(const Call& call) {
  const Operator* op = called_op(&call);
  if (op == nullptr || !op->pure() || op->definition() != DefinitionKind::kCompute) return {};
  const auto* result = call.type() == nullptr ? nullptr : call.type()->as<TensorType>();
  const std::optional<int64_t> count = num_elements(call.type());
  if (result == nullptr || !count || *count > 64 || !result->has_dtype() ||
      !result->dtype().is_integer())
    return {};
  std::vector<TypeRef> types;
  std::vector<Value> zeros;
  for (const ExprRef& arg : call.args()) {
    const auto* type = arg->type() == nullptr ? nullptr : arg->type()->as<TensorType>();
    if (type == nullptr || !num_elements(type) || !type->has_dtype()) return {};
    std::vector<int64_t> shape;
    for (Dim dim : type->dims()) shape.push_back(dim.as_int());
    types.emplace_back(type);
    zeros.emplace_back(NDArray::uniform(NDArray::scalar(type->dtype(), 0), shape));
  }
  try {
    const te::Computation computation =
        build_computation(OpCall(op, call.attrs(), types, TypeRef(call.type())));
    // A library kernel or a view reads its inputs without a load.
    for (const te::Output& output : computation.outputs) {
      if (output.tensor.is_input()) return {};
    }
    for (const te::Stage& stage : computation.stages) {
      for (const te::TensorId& read : te::stage_reads(stage)) {
        if (read.is_input()) return {};
      }
      for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
        if (node->kind == te::ScalarKind::kLoad) return {};
      }
    }
    const Value value = apply_op(op, call.attrs(), zeros, call.span());
    if (!value.is_tensor()) return {};
    // Extents may follow from elements though no element does.
    const NDArray made = value.array();
    const bool same = std::ranges::equal(
        made.shape(), result->dims(), [](int64_t extent, Dim dim) { return dim.is_int(extent); });
    return same ? make_constant(made, call.span()) : ExprRef();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace relay
