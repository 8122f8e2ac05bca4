// Joins the stages of operators into one computation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/tensor_expr/computation.h>

namespace relay::graph {

/// The operands of an operator: tensors of the computation that takes it in, or constants.
struct Operands {
  std::vector<te::Output> tensors;
  std::vector<std::optional<NDArray>> constants;  // beside `tensors`
};

/// Adds the stages of an operator, whose inputs are `operands`. Returns its outputs.
std::vector<te::Output> append_stages(te::Computation& into, te::Computation stages,
                                      const Operands& operands, uint32_t origin,
                                      std::string_view op);

/// Adds a constant as a stage. Throws Error if it is large.
te::TensorId append_constant(te::Computation& into, const NDArray& given);

}  // namespace relay::graph
