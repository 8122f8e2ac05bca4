#include <relay/lower/window_fill.h>

#include <relay/lower/scalars.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::BinaryOp;
using te::Combiner;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

bool fill_is_identity(const ScalarNode& fold, const ScalarNode* load) {
  if (num_accumulators(fold) != 1 || fold.args.size() != 1) return false;
  bool sum = fold.combiner->kind == Combiner::Kind::kSum;
  const ScalarNode* node = fold.args[0].get();
  while (node != load) {
    if (node->kind == ScalarKind::kCast && sum) {
      node = node->args[0].get();
    } else if (sum && node->kind == ScalarKind::kBinary && node->binary == BinaryOp::kMul) {
      // On to the factor that has the load.
      auto has = [&](const ScalarRef& arg) {
        std::vector<ScalarRef> one{arg};
        for (const ScalarNode* inner : te::post_order(one)) {
          if (inner == load) return true;
        }
        return false;
      };
      if (has(node->args[0]) == has(node->args[1])) return false;
      node = node->args[has(node->args[0]) ? 0 : 1].get();
    } else {
      return false;
    }
  }
  const ScalarNode& fill = *load->fill;
  if (sum) return fill.dtype.is_float() ? fill.value.f == 0 : fill.value.i == 0;
  ScalarRef identity = combiner_identity(*fold.combiner, 0, fold.dtype);
  bool extremum =
      fold.combiner->kind == Combiner::Kind::kMax || fold.combiner->kind == Combiner::Kind::kMin;
  return extremum && fill.dtype == identity->dtype &&
         (fill.dtype.is_float() ? fill.value.f == identity->value.f
                                : fill.value.i == identity->value.i);
}

ScalarRef load_at(const ScalarNode& load, const std::vector<ScalarRef>& indices,
                  const std::vector<Dim>& dims, IndexMath& math) {
  Ref<ScalarNode> copy = te::copy_node(load);
  bool inside = true;
  for (size_t d = 0; d < indices.size(); ++d) {
    Dim index = math.poly(indices[d]);
    copy->args[d] = math.scalar(index);
    inside = inside && (load.bounds == te::Bounds::kProven || math.in_range(index, dims[d]));
  }
  if (inside) {
    copy->bounds = te::Bounds::kProven;
    copy->fill = {};
  }
  return copy;
}

}  // namespace relay::lower
