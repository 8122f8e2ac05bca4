// InferType: types on every node.
#include <relay/infer/infer.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>
#include <relay/transform/program.h>

namespace relay {
namespace {

// The functions stay the same nodes, since inference publishes types and edits nothing (T10), but
// that literals take the form of their dtype.
Module infer(const Module& module, const PassContext& context) {
  std::vector<Diagnostic> warnings;
  require_typed(module, &warnings);
  if (context.diagnostics != nullptr) {
    for (Diagnostic& warning : warnings) context.diagnostics->add(std::move(warning));
  }
  return resolve_literals(module, Resolve::kForText);
}

RELAY_REGISTER_PASS({
    {"InferType",
     0,
     {},
     "Infers and checks the types of all functions and publishes them on every node. Numbers "
     "without a suffix get that of their dtype (int32 has none)."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, infer); },
});

}  // namespace
}  // namespace relay
