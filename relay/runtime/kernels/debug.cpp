// Values that a program shows while it runs, on standard error.
#include <relay/runtime/format.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>

#include <cstdio>
#include <string>

namespace relay {
namespace {

/// A tensor's type as programs write it.
std::string type_of(const NDArray& array) {
  std::string dtype(array.dtype().name());
  if (array.rank() == 0) return dtype;
  std::string extents;
  for (int64_t extent : array.shape())
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return "Tensor[(" + extents + "), " + dtype + "]";
}

/// "debug NAME: Tensor[(2, 3), float32]" and the elements below; of several tensors each with its
/// number.
void debug_kernel(LibraryCall& call) {
  RELAY_CHECK(call.inputs.size() == call.outputs.size(), "arguments of debug");
  std::string text;
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    const NDArray& input = call.inputs[k];
    text += "debug";
    if (!call.word("label").empty()) text += " " + call.word("label");
    if (call.flag("tuple")) text += "." + std::to_string(k);
    text += ": " + type_of(input) + "\n" + format_array(input) + "\n";
    call.outputs[k].assign(input);
  }
  // In one piece, whatever other threads write.
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void debug_rule(const LibraryOperands& of) {
  of.want(of.inputs.size() == of.outputs.size(), "as many outputs as inputs");
  for (size_t k = 0; k < of.inputs.size(); ++k) of.same(of.outputs[k], of.inputs[k]);
}

RELAY_LIBRARY_RULE("debug", debug_rule);
RELAY_LIBRARY_KERNEL("debug", debug_kernel,
                     {LibrarySignature::kAny,
                      LibrarySignature::kAny,
                      {{"label", ParamKind::kWord}, {"tuple", ParamKind::kFlag}}});

}  // namespace
}  // namespace relay
