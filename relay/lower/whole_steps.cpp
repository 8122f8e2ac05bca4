// Sums of products at quotients and remainders of a result's axis, as those of transposed
// convolutions, whose axis ends within a step: summed up to the end of the step, then cut.
#include <algorithm>
#include <unordered_map>

#include <relay/lower/prepare.h>
#include <relay/lower/stage_copier.h>
#include <relay/lower/sum_of_products.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Computation;
using te::Map;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

using Steps = std::unordered_map<uint32_t, int64_t>;  // of an axis

/// The axes of a stage that end within a step which both factors of its sum take.
Steps broken_steps(const Map& map) {
  Steps result = common_steps(map);
  for (const Axis& axis : map.axes) {
    auto step = result.find(axis.id);
    if (step != result.end() && floor_mod(axis.extent, Dim(step->second)).is_int(0))
      result.erase(step);
  }
  return result;
}

bool mentions(const ScalarRef& value, const Steps& axes) {
  const std::vector<const ScalarNode*> nodes = te::post_order({&value, 1});
  return std::any_of(nodes.begin(), nodes.end(), [&](const ScalarNode* node) {
    return node->kind == ScalarKind::kIndex && axes.contains(node->axis);
  });
}

/// The stage of the sums alone, each axis to the end of its last step. What lies behind the end of
/// the result reads nothing that it must not.
te::Stage sums_of(const Map& map, const ScalarNode* fold, const Steps& steps, StageCopier& out) {
  Map sums;
  std::unordered_map<uint32_t, ScalarRef> names;
  te::TensorInfo info{{}, fold->dtype};
  for (const Axis& axis : map.axes) {
    auto step = steps.find(axis.id);
    Dim extent = axis.extent;
    if (step != steps.end()) extent = ceil_div(extent, Dim(step->second)) * Dim(step->second);
    sums.axes.push_back(out.new_axis(extent));
    names.emplace(axis.id, te::index_of(sums.axes.back()).ref());
    info.dims.push_back(extent);
  }
  te::ScalarRewriter filled([&](const ScalarRef& node, const std::vector<ScalarRef>& args) {
    if (node->kind != ScalarKind::kLoad || node->bounds != te::Bounds::kProven) return ScalarRef();
    if (std::none_of(node->args.begin(), node->args.end(),
                     [&](const ScalarRef& index) { return mentions(index, steps); }))
      return ScalarRef();
    Ref<ScalarNode> load = te::copy_node(*node);
    load->args = args;
    load->bounds = te::Bounds::kFill;
    load->fill = te::constant(0, node->dtype).ref();
    return ScalarRef(load);
  });
  sums.values.push_back(te::substitute(filled(ScalarRef(fold)), names));
  te::Stage stage;
  stage.outputs.push_back(std::move(info));
  stage.body = std::move(sums);
  return stage;
}

}  // namespace

Computation in_whole_steps(const Computation& computation) {
  const bool none =
      std::all_of(computation.stages.begin(), computation.stages.end(), [](const te::Stage& stage) {
        const auto* map = std::get_if<Map>(&stage.body);
        return map == nullptr || broken_steps(*map).empty();
      });
  if (none) return computation;
  StageCopier out(computation);
  for (const te::Stage& old : computation.stages) {
    te::Stage stage = out.renamed(old);
    auto* map = std::get_if<Map>(&stage.body);
    const Steps steps = map == nullptr ? Steps() : broken_steps(*map);
    if (!steps.empty()) {
      const ScalarNode* fold = only_fold(map->values[0]);
      auto load = te::new_node(ScalarKind::kLoad, fold->dtype);
      load->tensor = out.add(sums_of(*map, fold, steps, out));
      load->bounds = te::Bounds::kProven;
      for (const Axis& axis : map->axes) load->args.push_back(te::index_of(axis).ref());
      te::ScalarRewriter cut([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
        return node.get() == fold ? ScalarRef(load) : ScalarRef();
      });
      map->values[0] = cut(map->values[0]);
    }
    out.place(std::move(stage));
  }
  return out.finish();
}

}  // namespace relay::lower
