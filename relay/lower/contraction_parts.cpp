#include <relay/lower/contraction_parts.h>

#include <algorithm>
#include <unordered_set>

#include <relay/lower/scalars.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

std::vector<ScalarRef> loads_in(const ScalarRef& root) {
  std::vector<ScalarRef> loads;
  if (root->kind == ScalarKind::kLoad) loads.push_back(root);
  std::unordered_set<const ScalarNode*> seen;
  for (const ScalarNode* node : te::post_order({&root, 1})) {
    for (const ScalarRef& arg : node->args) {
      if (arg->kind == ScalarKind::kLoad && seen.insert(arg.get()).second) loads.push_back(arg);
    }
  }
  return loads;
}

bool uses_axes(const ScalarRef& root) {
  for (const ScalarNode* node : te::post_order({&root, 1})) {
    if (node->kind == ScalarKind::kIndex) return true;
  }
  return false;
}

ScalarRef with_placeholder(const ScalarRef& root, const ScalarNode* load, uint32_t var) {
  ScalarRef placeholder = te::placeholder(var, load->dtype).ref();
  ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
    return node.get() == load ? placeholder : ScalarRef();
  });
  return rewrite(root);
}

Cut cut_known(int64_t count, int64_t most) {
  Cut cut;
  cut.known = true;
  int64_t pieces = std::max<int64_t>(1, (count + most - 1) / most);
  cut.size = std::max<int64_t>(1, (count + pieces - 1) / pieces);
  int64_t small = cut.size - 1;
  cut.pieces = count == 0 ? 0 : pieces;
  cut.more = count - small * pieces;
  return cut;
}

Cut cut_unknown(Dim count, int64_t size) {
  Cut cut;
  cut.size = size;
  cut.pieces = ceil_div(count, size);
  cut.more = cut.pieces;
  return cut;
}

Cut cut_panels(Dim count, int64_t size) {
  Cut cut = cut_unknown(count, size);
  cut.known = count.is_int();
  if (cut.known) cut.rest = count.as_int() % size;
  return cut;
}

}  // namespace relay::lower
