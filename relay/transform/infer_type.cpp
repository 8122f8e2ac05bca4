// InferType: types on every node.
#include <relay/infer/infer.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>
#include <relay/transform/program.h>

namespace relay {
namespace {

// The functions stay the same nodes, since inference publishes types and edits nothing (T10), but
// that literals take the form of their dtype, and that functions whose nodes have other types
// already are copied.
Module infer(const Module& module, const PassContext& context) {
  std::vector<Diagnostic> warnings;
  Module typed = module;
  require_typed(typed, &warnings);
  for (Diagnostic& warning : warnings) context.tell(std::move(warning));
  return resolve_literals(typed, Resolve::kForText);
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
