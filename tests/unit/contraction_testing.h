// Operator calls as contractions, for tests and benchmarks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <relay/lower/contraction.h>
#include <relay/op/op.h>
#include <relay/tensor_expr/computation.h>

namespace relay {

/// The computation of a call on inputs of the given types.
inline te::Computation computation_of(std::string_view op_name, const AttrsRef& attrs,
                                      std::vector<TypeRef> types) {
  const Operator* op = get_op(op_name);
  TypeRef result = infer_call_type(op, types, attrs);
  return build_computation(OpCall(op, attrs, types, result));
}

/// The contraction that `match_contraction` makes of a computation that is one point-wise stage;
/// buffers are the inputs and then the output.
inline std::optional<lower::Contraction> contraction_of(const te::Computation& computation) {
  std::vector<lower::Buffer> buffers;
  for (size_t i = 0; i < computation.inputs.size(); ++i) {
    const te::TensorInfo& info = computation.inputs[i];
    buffers.push_back(
        {lower::Buffer::Role::kInput, "in" + std::to_string(i), info.dtype, info.dims});
  }
  const te::Stage& stage = computation.stages.back();
  const auto& map = std::get<te::Map>(stage.body);
  buffers.push_back(
      {lower::Buffer::Role::kOutput, "out", stage.outputs[0].dtype, stage.outputs[0].dims});
  return lower::match_contraction(buffers, static_cast<int32_t>(buffers.size()) - 1, map.axes,
                                  map.values[0], computation.num_axes, computation.num_vars);
}

}  // namespace relay
