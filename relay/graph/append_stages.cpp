#include <relay/graph/append_stages.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include <relay/support/error.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/origin.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {
namespace {

using te::Computation;
using te::copy_node;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

/// Constants up to this size may stand in a group; the elements become a tree of selects. Equal
/// elements are one number, in any number.
constexpr int64_t kMaxConstant = 64;

te::Scalar element_constant(const NDArray& array, int64_t i) {
  if (array.dtype().is_float()) return te::constant(array.element_as_double(i), array.dtype());
  return te::constant(array.element_as_int64(i), array.dtype());
}

class StageAppender {
 public:
  StageAppender(Computation& into, const Operands& operands, uint32_t origin, std::string_view op)
      : into_(into),
        operands_(operands),
        origin_(origin),
        op_(op),
        inputs_(operands.tensors.size()) {}

  std::vector<te::Output> run(Computation computation) {
    const te::OriginScope scope(origin_);
    axes_ = into_.num_axes;
    vars_ = into_.num_vars;
    into_.num_axes += computation.num_axes;
    into_.num_vars += computation.num_vars;
    make_constants(computation);
    base_ = static_cast<int32_t>(into_.stages.size());
    for (te::Stage& stage : computation.stages) {
      te::rewrite_roots(stage, [&](const ScalarRef& root) { return rewrite_(root); });
      std::visit([&](auto& body) { rewrite_rest(body); }, stage.body);
      into_.stages.push_back(std::move(stage));
    }
    std::vector<te::Output> outputs = std::move(computation.outputs);
    for (te::Output& output : outputs) output.tensor = tensor(output.tensor);
    return outputs;
  }

 private:
  /// Constants that are read other than as rank-0 loads need a tensor, before the stages.
  void make_constants(const Computation& computation) {
    for (const te::Stage& stage : computation.stages) {
      bool loads_only = !std::holds_alternative<te::View>(stage.body) &&
                        !std::holds_alternative<te::Library>(stage.body) &&
                        !std::holds_alternative<te::Update>(stage.body);
      for (TensorId id : te::stage_reads(stage)) {
        if (!id.is_input()) continue;
        const auto& constant = operands_.constants[static_cast<size_t>(id.index)];
        if (constant && (!loads_only || constant->rank() > 0)) input(id.index);
      }
    }
    for (const te::Output& output : computation.outputs) {
      if (output.tensor.is_input()) input(output.tensor.index);
    }
  }

  TensorId input(int32_t k) {
    auto at = static_cast<size_t>(k);
    const auto& constant = operands_.constants[at];
    if (!inputs_[at])
      inputs_[at] = constant ? append_constant(into_, *constant) : operands_.tensors[at].tensor;
    return *inputs_[at];
  }

  TensorId tensor(TensorId id) {
    return id.is_input() ? input(id.index) : TensorId{id.stage + base_, id.index};
  }

  void renumber(std::vector<te::Axis>& axes) const {
    for (te::Axis& axis : axes) axis.id += axes_;
  }

  std::shared_ptr<const te::Combiner> renumbered(
      const std::shared_ptr<const te::Combiner>& combiner) {
    auto& entry = combiners_[combiner.get()];
    if (!entry) entry = te::renumber_vars(*combiner, [&](uint32_t id) { return id + vars_; });
    return entry;
  }

  ScalarRef rewritten(const ScalarRef& node, const std::vector<ScalarRef>& args) {
    switch (node->kind) {
      case ScalarKind::kIndex: {
        Ref<ScalarNode> copy = copy_node(*node);
        copy->axis += axes_;
        return copy;
      }
      case ScalarKind::kVar: {
        Ref<ScalarNode> copy = copy_node(*node);
        copy->id += vars_;
        return copy;
      }
      case ScalarKind::kLoad: {
        if (node->tensor.is_input() && args.empty()) {
          const auto& value = operands_.constants[static_cast<size_t>(node->tensor.index)];
          if (value) return element_constant(*value, 0).ref();
        }
        Ref<ScalarNode> copy = copy_node(*node);
        copy->tensor = tensor(node->tensor);
        copy->args = args;
        if (te::may_miss(node->bounds)) set_failure(*copy, te::kOutOfRange);
        return copy;
      }
      case ScalarKind::kFold: {
        Ref<ScalarNode> copy = copy_node(*node);
        renumber(copy->axes);
        copy->combiner = renumbered(node->combiner);
        copy->args = args;
        if (node->combiner->needs_element) set_failure(*copy, te::kEmptyFold);
        return copy;
      }
      case ScalarKind::kFail: {
        if (args[0]->kind == ScalarKind::kConst) return {};
        Ref<ScalarNode> copy = copy_node(*node);
        copy->args = args;
        set_failure(*copy, node->message);
        return copy;
      }
      default:
        // All that changes is new, and belongs to the operator; what may fail has to.
        if (args == node->args && te::can_fail(*node)) return copy_node(*node);
        return {};
    }
  }

  /// Assigns a failure to its operator: that of a node or an update.
  template <class T>
  void set_failure(T& at, std::string_view message) const {
    if (origin_ != 0) at.origin = origin_;
    at.message = te::failure_text(op_, message);
  }

  // Rewrites the parts of a stage beside its expressions.
  void rewrite_rest(te::Map& map) { renumber(map.axes); }
  void rewrite_rest(te::Scan& scan) {
    renumber(scan.axes);
    for (ScalarRef& carry : scan.carries) carry = rewrite_(carry);
  }
  void rewrite_rest(te::Update& update) {
    renumber(update.axes);
    update.base = tensor(update.base);
    if (update.bounds == te::Bounds::kFail) set_failure(update, te::kOutOfRange);
    if (update.combiner) {
      auto shared = std::make_shared<const te::Combiner>(*update.combiner);
      update.combiner = *renumbered(shared);
      combiners_.erase(shared.get());
    }
  }
  void rewrite_rest(te::View& view) { view.source = tensor(view.source); }
  void rewrite_rest(te::Library& library) {
    for (TensorId& id : library.inputs) id = tensor(id);
    library.op = op_;
    if (origin_ != 0) library.origin = origin_;
  }

  Computation& into_;
  const Operands& operands_;
  const uint32_t origin_;
  const std::string_view op_;
  // The first of the axes, placeholders and stages that are added.
  uint32_t axes_ = 0, vars_ = 0;
  int32_t base_ = 0;
  std::vector<std::optional<TensorId>> inputs_;  // those that are read so far
  std::unordered_map<const te::Combiner*, std::shared_ptr<const te::Combiner>> combiners_;
  te::ScalarRewriter rewrite_{[this](const ScalarRef& node, const std::vector<ScalarRef>& args) {
    return rewritten(node, args);
  }};
};

}  // namespace

std::vector<te::Output> append_stages(Computation& into, Computation stages,
                                      const Operands& operands, uint32_t origin,
                                      std::string_view op) {
  return StageAppender(into, operands, origin, op).run(std::move(stages));
}

TensorId append_constant(Computation& into, const NDArray& given) {
  bool uniform = given.is_uniform();
  if (given.size() > kMaxConstant && !uniform) {
    throw Error("a constant of " + std::to_string(given.size()) +
                " elements must be a parameter of a primitive function");
  }
  NDArray array = uniform ? NDArray::uniform(given, {}) : given.contiguous();
  te::Map map;
  std::vector<Dim> dims(given.shape().begin(), given.shape().end());
  te::Scalar flat = te::index_constant(0);
  for (Dim dim : dims) {
    map.axes.push_back({into.num_axes++, dim});
    flat = flat * te::from_dim(dim) + te::index_of(map.axes.back());
  }
  std::vector<Dim> ones(static_cast<size_t>(std::max<int64_t>(array.size(), 1)), Dim(1));
  map.values.push_back(array.size() == 0 ? te::constant(0, array.dtype()).ref()
                       : uniform         ? element_constant(array, 0).ref()
                                 : te::piecewise(flat, ones, [&](size_t part, const te::Scalar&) {
                                     return element_constant(array, static_cast<int64_t>(part));
                                   }).ref());
  te::Stage stage;
  stage.outputs.push_back({dims, array.dtype()});
  stage.body = std::move(map);
  into.stages.push_back(std::move(stage));
  return {static_cast<int32_t>(into.stages.size()) - 1, 0};
}

}  // namespace relay::graph
