#include <relay/analysis/forms.h>

#include <relay/ir/regions.h>

namespace relay {

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

}  // namespace relay
