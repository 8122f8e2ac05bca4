#include <tests/unit/model_products.h>

#include <variant>

#include <relay/graph/compose.h>
#include <relay/ir/visit.h>
#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/transform/fusion.h>
#include <relay/vm/compiler/prepare.h>

namespace relay::testing {

Products products_of(const Module& module) {
  Products found;
  std::vector<Name> all;
  for (const auto& entry : module.functions()) all.push_back(entry.name);
  Module ready = vm::prepare(module, all, 3).module;
  for (const auto& entry : ready.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      const auto* call = expr->as<Call>();
      const auto* kernel = call == nullptr ? nullptr : call->callee()->as<Function>();
      if (kernel == nullptr || !is_primitive(kernel)) return;
      std::vector<TypeRef> types;
      for (const ExprRef& arg : call->args()) types.emplace_back(arg->type());
      lower::Lowered lowered;
      try {
        lowered = lower::lower(graph::compose(*kernel, types).computation, "k", {});
      } catch (const Error&) {
        return;  // extents that only a run knows
      }
      for (const auto& one : lowered.kernels) {
        bool contraction = std::holds_alternative<lower::Contraction>(one->body);
        found.contractions += contraction ? 1 : 0;
        found.in_loops += one->products_in_loops;
        if (one->products_in_loops > 0) found.where += one->str() + "\n";
      }
    });
  }
  return found;
}

}  // namespace relay::testing
