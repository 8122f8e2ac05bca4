// ExpandOps: operators that are defined by others become these.
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/columns.h>
#include <relay/transform/fusion.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

/// True for an operator whose calls are to be expanded.
using Wanted = bool (*)(const Operator* op);

bool is_expanded(const Expr* expr, Wanted wanted) {
  const Operator* op = called_op(expr);
  return op != nullptr && op->definition() == DefinitionKind::kExpand && wanted(op);
}

class Expander final : public Rewriter {
 public:
  Expander(const LazyEffects& effects, const Function* root, Wanted wanted)
      : expander_(effects, root), wanted_(wanted) {}

 private:
  // Kernels keep the operators that they were made of.
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (is_expanded(expr, wanted_)) {
      const auto& call = static_cast<const Call&>(*expr);
      if (needs_run_to_check(call)) return rebuild(expr, operands);
      if (ExprRef result = expander_(called_op(expr)->expand(), call, operands.subspan(1)))
        return result;
    }
    return rebuild(expr, operands);
  }

  CallExpander expander_;
  const Wanted wanted_;
};

FunctionRef expand(const FunctionRef& function, const LazyEffects& effects, Wanted wanted) {
  bool any = false;
  post_order(function.get(), [&](const Expr* expr) { any |= is_expanded(expr, wanted); });
  if (!any) return function;
  ExprRef result = Expander(effects, function.get(), wanted).run(function);
  return FunctionRef(result->as<Function>());
}

PassRef make_expand(const PassInfo& info, Wanted wanted) {
  return make_prepared_function_pass(info, [wanted](const Module& module, const PassContext&) {
    return [effects = LazyEffects(module), wanted](const FunctionRef& function) {
      return expand(function, effects, wanted);
    };
  });
}

RELAY_REGISTER_PASS({
    {"ExpandOps",
     0,
     {ProgramState::kTyped},
     "Puts the definition of operators that are defined by other operators (`nn.group_norm`, "
     "`stack`, …) in the place of their calls, so that passes see what is computed. Functions "
     "marked Primitive are left as they are, and calls whose arguments only a run can check."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_expand(info, [](const Operator*) { return true; });
    },
});

RELAY_REGISTER_PASS({
    {"QnnCanonicalize",
     1,
     {ProgramState::kTyped},
     "The same for the operators of quantised networks alone (`qnn.quantize`, `qnn.dense`, …): "
     "they "
     "become operators on integers and floats, which all other passes know."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_expand(info, [](const Operator* op) { return quantised().find(op) != nullptr; });
    },
});

}  // namespace
}  // namespace relay
