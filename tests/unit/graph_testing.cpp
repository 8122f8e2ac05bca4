#include <tests/unit/graph_testing.h>

#include <relay/graph/work.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::testing {
namespace {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

bool is_axis_of(const ScalarRef& index, std::span<const te::Axis> axes) {
  return index->kind == ScalarKind::kIndex &&
         std::any_of(axes.begin(), axes.end(),
                     [&](const te::Axis& axis) { return axis.id == index->axis; });
}

/// The load [n, k] of a constant in a sum over k of a stage over n.
const ScalarNode* operand_of(const te::Map& map, const std::function<bool(size_t)>& constant) {
  for (const ScalarNode* fold : te::post_order(map.values)) {
    if (fold->kind != ScalarKind::kFold) continue;
    for (const ScalarNode* node : te::post_order(fold->args)) {
      if (node->kind == ScalarKind::kLoad && node->tensor.is_input() && node->args.size() == 2 &&
          node->bounds == te::Bounds::kProven && is_axis_of(node->args[0], map.axes) &&
          is_axis_of(node->args[1], fold->axes) &&
          constant(static_cast<size_t>(node->tensor.index)))
        return node;
    }
  }
  return nullptr;
}

te::Computation packing(const te::TensorInfo& source, int64_t width) {
  te::Builder builder({source});
  te::Tensor in = builder.input(0);
  builder.output(
      builder.map({ceil_div(source.dims[0], width), source.dims[1], width}, [&](te::Indices at) {
        return in.load_or({at[0] * width + at[2], at[1]}, te::constant(0, source.dtype));
      }));
  return builder.finish();
}

}  // namespace

graph::WorkRef work_of(const std::string& program, const std::vector<TypeRef>& types,
                       const std::string& name, const std::vector<TypeRef>& open) {
  FunctionRef function = main_function(program, types);
  return graph::make_work(name, "", graph::compose(*function, open.empty() ? types : open));
}

graph::FormOf panels(int64_t width) {
  return [width](const graph::Work& work,
                 const auto& constant) -> std::optional<graph::ReplacedOperand> {
    const te::Computation& old = work.computation();
    for (size_t s = 0; s < old.stages.size(); ++s) {
      const auto* map = std::get_if<te::Map>(&old.stages[s].body);
      const ScalarNode* load = map == nullptr ? nullptr : operand_of(*map, constant);
      if (load == nullptr) continue;
      ScalarRef kept(load);
      graph::ReplacedOperand result{static_cast<size_t>(load->tensor.index),
                                    packing(old.info(load->tensor), width),
                                    old,
                                    false,
                                    {}};
      te::Computation& made = result.computation;
      te::TensorId packed{-1, static_cast<int32_t>(made.inputs.size())};
      made.inputs.push_back(result.form.stages[0].outputs[0]);
      te::Scalar n(load->args[0]), k(load->args[1]);
      te::ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
        if (!(node == kept)) return ScalarRef();
        Ref<ScalarNode> copy = te::copy_node(*node);
        copy->tensor = packed;
        copy->args = {te::floor_div(n, te::index_constant(width)).ref(), k.ref(),
                      te::floor_mod(n, te::index_constant(width)).ref()};
        return ScalarRef(copy);
      });
      te::rewrite_roots(made.stages[s], [&](const ScalarRef& root) { return rewrite(root); });
      return result;
    }
    return std::nullopt;
  };
}

}  // namespace relay::testing
