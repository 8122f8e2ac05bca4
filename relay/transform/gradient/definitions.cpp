// Operators that others define, for gradients: those of the others are theirs.
#include <relay/transform/gradient/parts.h>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/gradient.h>
#include <relay/transform/fusion.h>
#include <relay/transform/literals.h>
#include <relay/transform/op_calls.h>

namespace relay::grad {
namespace {

bool is_defined_by_others(const Expr* expr) {
  const Operator* op = called_op(expr);
  return op != nullptr && op->definition() == DefinitionKind::kExpand &&
         gradient_column().find(op) == nullptr;
}

class Definitions final : public Rewriter {
 public:
  Definitions(const LazyEffects& effects, const Function* root) : expander_(effects, root) {}

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (is_defined_by_others(expr)) {
      const auto& call = static_cast<const Call&>(*expr);
      const ExprRef defined = needs_run_to_check(call)
                                  ? ExprRef()
                                  : expander_(called_op(expr)->expand(), call, operands.subspan(1));
      // An annotation of its argument is no computation: it stays.
      if (defined && !(call.args().size() > 0 && defined == operands[1])) return defined;
    }
    return rebuild(expr, operands);
  }

  CallExpander expander_;
};

}  // namespace

Module with_definitions(const Module& module) {
  const LazyEffects effects(module);
  Module changed = module;
  bool any = false;
  for (const auto& entry : module.functions()) {
    bool here = false;
    visit_each(entry.function.get(), [&](const Expr* expr) {
      here = here || is_defined_by_others(expr);
      return !here;
    });
    if (!here) continue;
    const ExprRef defined = Definitions(effects, entry.function.get()).run(entry.function);
    if (defined == entry.function) continue;
    changed.update_function(entry.name, FunctionRef(defined->as<Function>()));
    any = true;
  }
  if (!any) return module;
  infer_types_or_throw(changed);
  return resolve_literals(changed);
}

}  // namespace relay::grad
