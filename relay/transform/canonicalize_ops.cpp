// CanonicalizeOps: operators that are shorthand for others.
#include <relay/ir/rewrite.h>
#include <relay/op/registry/columns.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

FunctionRef canonicalize(const FunctionRef& function, const Module&, const PassContext&) {
  if (!calls_any(function.get(), canonical_form())) return function;
  auto rewrite = [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
    const auto* call = expr->as<Call>();
    // Adding would broadcast a bias that does not fit.
    ExprRef result =
        call == nullptr ? ExprRef() : expand_call(canonical_form(), *call, operands.subspan(1));
    return result && needs_run_to_check(*call) ? ExprRef() : result;
  };
  return FunctionRef(rewrite_post_order(function, rewrite)->as<Function>());
}

RELAY_REGISTER_PASS({
    {"CanonicalizeOps",
     3,
     {ProgramState::kTyped},
     "Writes bias_add as expand_dims and a broadcasting add, where the bias is known to fit."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_function_pass(info, canonicalize); },
});

}  // namespace
}  // namespace relay
