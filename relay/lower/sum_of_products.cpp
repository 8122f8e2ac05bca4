#include <relay/lower/sum_of_products.h>

#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

const ScalarNode* only_fold(const ScalarRef& value) {
  const ScalarNode* fold = nullptr;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind == ScalarKind::kGet) return nullptr;
    if (node->kind != ScalarKind::kFold) continue;
    if (fold != nullptr) return nullptr;
    fold = node;
  }
  return fold;
}

bool sums_products(const ScalarNode& fold) {
  return fold.combiner->kind == te::Combiner::Kind::kSum && !fold.combiner->needs_element &&
         fold.args.size() == 1 && fold.args[0]->kind == ScalarKind::kBinary &&
         fold.args[0]->binary == te::BinaryOp::kMul;
}

std::optional<SumOfLoads> sum_of_loads(const te::Map& map) {
  if (map.values.size() != 1) return std::nullopt;
  const ScalarNode* fold = only_fold(map.values[0]);
  if (fold == nullptr || fold->dtype != kFloat32 || !sums_products(*fold)) return std::nullopt;
  const ScalarNode& product = *fold->args[0];
  for (const ScalarRef& factor : product.args) {
    if (factor->kind != ScalarKind::kLoad || factor->dtype != kFloat32) return std::nullopt;
  }
  return SumOfLoads{fold, product.args[0].get(), product.args[1].get()};
}

std::optional<uint32_t> plain_axis(const ScalarRef& index) {
  if (index->kind != ScalarKind::kIndex) return std::nullopt;
  return index->axis;
}

}  // namespace relay::lower
