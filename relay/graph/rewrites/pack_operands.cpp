// Operands of products that are constants are stored as kernels read them: packing, which would be
// done in each run, is a computation on the constant.
#include <relay/graph/replace_operands.h>

namespace relay::graph {

bool pack_operands(Rewriting& program) {
  return replace_operands(program, program.options().packed_form);
}

}  // namespace relay::graph
