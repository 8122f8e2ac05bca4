// Convolutions with constant weights are computed in tiles, with fewer multiplications:
// transforming the weights, which would be done in each run, is a computation on the constant.
#include <relay/graph/replace_operands.h>

namespace relay::graph {

bool winograd(Rewriting& program) {
  return replace_operands(program, program.options().winograd_form);
}

}  // namespace relay::graph
