#include <relay/analysis/forms.h>

#include <relay/ir/regions.h>
#include <relay/ir/visit.h>

namespace relay {

bool is_constant_expr(const Expr* root) {
  bool constant = true;
  post_order(root, [&](const Expr* expr) {
    constant &= expr->is<Constant>() || expr->is<Literal>() || expr->is<Tuple>();
  });
  return constant;
}

bool in_basic_block_form(const Expr* root) {
  Regions regions(root);
  for (uint32_t id : regions.post_order()) {
    auto operands = regions.expr(id)->operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      uint32_t child = regions.operand(id, i);
      if (child == Regions::kNone || operands[i]->operands().empty()) continue;
      uint32_t place = regions.region_of(id, i);
      if (place == Regions::kNone) place = regions.home(id);
      if (regions.home(child) != place) return false;
    }
  }
  return true;
}

bool in_a_normal_form(const Expr* root) {
  Regions regions(root);
  for (uint32_t id : regions.post_order()) {
    const Expr* expr = regions.expr(id);
    auto operands = expr->operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      uint32_t child = regions.operand(id, i);
      if (child == Regions::kNone || operands[i]->operands().empty()) continue;
      if (regions.uses(child) > 1) return false;
      if (regions.region_of(id, i) != Regions::kNone) continue;
      // A let as a value would be flattened.
      if (!expr->is<Let>() || (i == 0 && operands[i]->is<Let>())) return false;
    }
  }
  return true;
}

}  // namespace relay
