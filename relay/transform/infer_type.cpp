// InferType: types on every node.
#include <relay/infer/infer.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// The functions stay the same nodes: inference publishes types and edits nothing (T10). Literals
// keep their text.
Module infer(const Module& module, const PassContext& context) {
  std::vector<Diagnostic> warnings;
  infer_types_or_throw(module, &warnings);
  if (context.diagnostics != nullptr) {
    for (Diagnostic& warning : warnings) context.diagnostics->add(std::move(warning));
  }
  return module;
}

RELAY_REGISTER_PASS({
    {"InferType",
     0,
     {},
     "Infers and checks the types of all functions and publishes them on every node."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, infer); },
});

}  // namespace
}  // namespace relay
