#include <relay/tensor_expr/precision.h>

#include <relay/tensor_expr/walk.h>

namespace relay::te {

std::optional<DType> wider_float(const Computation& computation) {
  DType widest;
  auto meet = [&widest](DType dtype) {
    if (dtype.is_float() && (!widest.valid() || dtype.bits > widest.bits)) widest = dtype;
  };
  for (const TensorInfo& input : computation.inputs) meet(input.dtype);
  for (const Output& output : computation.outputs) meet(computation.info(output.tensor).dtype);
  int32_t outside = widest.valid() ? widest.bits : 0;
  for (const Stage& stage : computation.stages) {
    for (const ScalarNode* node : post_order(stage_roots(stage))) {
      // A conversion alone calculates nothing.
      bool calculates = node->kind == ScalarKind::kUnary || node->kind == ScalarKind::kBinary ||
                        node->kind == ScalarKind::kFold;
      if (calculates) meet(node->dtype);
    }
  }
  if (!widest.valid() || widest.bits <= outside) return std::nullopt;
  return widest;
}

}  // namespace relay::te
