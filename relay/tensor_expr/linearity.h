// How the results of a computation depend on its inputs.
#pragma once

#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// The dependence of a value on some inputs.
enum class Dependence : uint8_t {
  kZero,    // it is 0
  kNone,    // it does not depend on them
  kLinear,  // it is a sum of products of their elements with numbers that do not depend on them
  kOther,
};

/// The dependence of each output on the inputs that are chosen, all of them together.
std::vector<Dependence> dependence_on(const Computation& computation,
                                      const std::vector<bool>& inputs);

/// True if element i of each output depends on element i alone of each input that is chosen; these
/// and all outputs have one shape.
bool is_pointwise_in(const Computation& computation, const std::vector<bool>& inputs);

}  // namespace relay::te
