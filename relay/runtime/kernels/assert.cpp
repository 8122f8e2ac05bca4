// Conditions that a program checks while it runs.
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

namespace relay {
namespace {

/// Returns the data unchanged, unless the condition is false: then the run fails with the message.
void assert_kernel(LibraryCall& call) {
  if (call.inputs[0].element_as_int64(0) == 0) throw RuntimeError(call.word("message"));
  call.outputs[0].assign(call.inputs[1]);
}

void assert_rule(const LibraryOperands& of) {
  of.dtype(of.inputs[0], {kBool});
  of.rank(of.inputs[0], 0);
  of.same(of.outputs[0], of.inputs[1]);
}

RELAY_LIBRARY_RULE("assert", assert_rule);
RELAY_LIBRARY_KERNEL("assert", assert_kernel, {2, 1, {{"message", ParamKind::kWord}}});

}  // namespace
}  // namespace relay
