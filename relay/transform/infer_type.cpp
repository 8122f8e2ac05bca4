// InferType: types on every node.
#include <relay/infer/infer.h>
#include <relay/transform/declared_params.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>
#include <relay/transform/program.h>

namespace relay {
namespace {

// The functions stay the same nodes, since inference publishes types and edits nothing (T10), but
// that literals take the form of their dtype, that parameters state their types, since a later pass
// may remove what these follow from, and that functions whose nodes have other types already are
// copied.
Module infer(const Module& module, const PassContext& context) {
  std::vector<Diagnostic> warnings;
  Module typed = module;
  require_typed(typed, &warnings);
  for (Diagnostic& warning : warnings) context.tell(std::move(warning));
  return with_declared_params(resolve_literals(typed, Resolve::kForText));
}

RELAY_REGISTER_PASS({
    {"InferType",
     0,
     {},
     "Infers and checks the types of all functions and publishes them on every node. Numbers "
     "without a suffix get that of their dtype (int32 has none), and parameters of global functions "
     "the types that were found for them, unless callers may choose these."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, infer); },
});

}  // namespace
}  // namespace relay
