#include <relay/lower/sum_of_products.h>

#include <relay/tensor_expr/affine.h>
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

namespace {

using Steps = std::unordered_map<uint32_t, int64_t>;

/// By what a factor divides axes; 0: by several numbers.
Steps steps_in(const ScalarRef& factor) {
  Steps steps;
  for (const ScalarNode* node : te::post_order({&factor, 1})) {
    const Dim by = te::divisor(*node);
    if (!by.is_int() || by.as_int() < 2) continue;
    const te::Affine sum = te::affine(node->args[0]);
    for (const te::Affine::Term& term : sum.terms) {
      const bool plain = sum.others.empty() && term.coefficient.is_int(1);
      auto [known, fresh] = steps.emplace(term.axis, plain ? by.as_int() : 0);
      if (!fresh && known->second != by.as_int()) known->second = 0;
    }
  }
  return steps;
}

/// The load that a factor of float32 is; of bfloat16 and float16 it is widened. Null for others.
const ScalarNode* load_of(const ScalarRef& factor) {
  if (factor->dtype != kFloat32) return nullptr;
  const bool widens = factor->kind == ScalarKind::kCast;
  const ScalarNode* load = widens ? factor->args[0].get() : factor.get();
  if (load->kind != ScalarKind::kLoad) return nullptr;
  return !widens || load->dtype == kBFloat16 || load->dtype == kFloat16 ? load : nullptr;
}

}  // namespace

std::unordered_map<uint32_t, int64_t> common_steps(const te::Map& map) {
  Steps result;
  if (map.values.size() != 1) return result;
  const ScalarNode* fold = only_fold(map.values[0]);
  if (fold == nullptr || !sums_products(*fold)) return result;
  const ScalarNode& product = *fold->args[0];
  const Steps left = steps_in(product.args[0]), right = steps_in(product.args[1]);
  for (const te::Axis& axis : map.axes) {
    auto in_left = left.find(axis.id), in_right = right.find(axis.id);
    if (in_left == left.end() || in_right == right.end()) continue;
    const int64_t step = in_left->second;
    if (step != 0 && step == in_right->second) result.emplace(axis.id, step);
  }
  return result;
}

std::optional<SumOfLoads> sum_of_loads(const te::Map& map) {
  if (map.values.size() != 1) return std::nullopt;
  const ScalarNode* fold = only_fold(map.values[0]);
  if (fold == nullptr || fold->dtype != kFloat32 || !sums_products(*fold)) return std::nullopt;
  const ScalarNode* lhs = load_of(fold->args[0]->args[0]);
  const ScalarNode* rhs = load_of(fold->args[0]->args[1]);
  if (lhs == nullptr || rhs == nullptr) return std::nullopt;
  return SumOfLoads{fold, lhs, rhs};
}

std::optional<uint32_t> plain_axis(const ScalarRef& index) {
  if (index->kind != ScalarKind::kIndex) return std::nullopt;
  return index->axis;
}

}  // namespace relay::lower
