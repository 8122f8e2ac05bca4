// Folds in stages of their own, so that adjoints meet points or one fold, never both.
#include <algorithm>

#include <relay/tensor_expr/adjoint_parts.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

class Lifter {
 public:
  explicit Lifter(const Computation& computation) : in_(computation) {}

  Computation run() {
    out_.inputs = in_.inputs;
    out_.num_axes = in_.num_axes;
    out_.num_vars = in_.num_vars;
    for (Stage stage : in_.stages) {
      ScalarRewriter rename = moved_loads([&](TensorId id) { return moved(id); });
      rewrite_roots(stage, [&](const ScalarRef& root) { return rename(root); });
      if (auto* map = std::get_if<Map>(&stage.body)) {
        lift(*map);
      } else if (auto* scan = std::get_if<Scan>(&stage.body)) {
        std::vector<Axis> before = scan->axes;
        before.erase(before.begin() + static_cast<std::ptrdiff_t>(scan->along));
        scan->init = lift_level(scan->init, before);
        scan->step = lift_level(scan->step, scan->axes);
      } else if (auto* update = std::get_if<Update>(&stage.body)) {
        update->base = moved(update->base);
        std::vector<ScalarRef> roots = lift_level(stage_roots(stage), update->axes);
        update->value = roots.back();
        roots.pop_back();
        update->at = std::move(roots);
      } else if (auto* view = std::get_if<View>(&stage.body)) {
        view->source = moved(view->source);
      } else if (auto* library = std::get_if<Library>(&stage.body)) {
        for (TensorId& id : library->inputs) id = moved(id);
      }
      stages_.push_back(static_cast<int32_t>(out_.stages.size()));
      out_.stages.push_back(std::move(stage));
    }
    out_.outputs = in_.outputs;
    for (Output& output : out_.outputs) output.tensor = moved(output.tensor);
    return std::move(out_);
  }

 private:
  TensorId moved(TensorId id) const {
    return id.is_input() ? id : TensorId{stages_[static_cast<size_t>(id.stage)], id.index};
  }

  void lift(Map& map) {
    const ScalarNode* fold = only_fold(map);
    if (fold == nullptr) {
      map.values = lift_level(map.values, map.axes);
      return;
    }
    std::vector<Axis> scope = map.axes;
    scope.insert(scope.end(), fold->axes.begin(), fold->axes.end());
    std::vector<ScalarRef> args = lift_level(fold->args, scope);
    if (args == fold->args) return;
    Ref<ScalarNode> copy = copy_node(*fold);
    copy->args = std::move(args);
    ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
      return node.get() == fold ? ScalarRef(copy) : ScalarRef();
    });
    map.values = replace(map.values);
  }

  /// The roots with a load of a stage in the place of every fold.
  std::vector<ScalarRef> lift_level(std::span<const ScalarRef> roots, std::span<const Axis> scope) {
    std::vector<ScalarRef> order = level_order(roots);
    bool folds = std::any_of(order.begin(), order.end(),
                             [](const ScalarRef& node) { return node->kind == ScalarKind::kFold; });
    if (!folds) return {roots.begin(), roots.end()};
    Guards guards(order, roots);
    Lifted lifted;
    for (const ScalarRef& node : order) {
      if (node->kind == ScalarKind::kFold) lift_fold(node, guards, scope, lifted);
    }
    ScalarRewriter finish = with_loads(lifted);
    return finish(roots);
  }

  /// The loads that stand for the accumulators of folds; none for folds that stay.
  using Lifted = std::unordered_map<const ScalarNode*, std::vector<Scalar>>;

  static ScalarRewriter with_loads(const Lifted& lifted) {
    return ScalarRewriter([&lifted](const ScalarRef& node, const std::vector<ScalarRef>&) {
      bool is_get = node->kind == ScalarKind::kGet;
      auto found = lifted.find(is_get ? node->args[0].get() : node.get());
      if (found == lifted.end() || found->second.empty()) return ScalarRef();
      return found->second[is_get ? node->id : 0].ref();
    });
  }

  void lift_fold(const ScalarRef& fold, const Guards& guards, std::span<const Axis> scope,
                 Lifted& lifted) {
    if (!lifted.emplace(fold.get(), std::vector<Scalar>()).second) return;
    Scalar when = guards.of(fold.get());
    if (when.node() != nullptr) {
      // Its condition comes first.
      ScalarRef condition[] = {when.ref()};
      for (const ScalarRef& node : level_order(condition)) {
        if (node->kind != ScalarKind::kFold) continue;
        if (node == fold) throw NoAdjoint("a fold decides whether it is evaluated");
        lift_fold(node, guards, scope, lifted);
      }
      when = with_loads(lifted)(when.ref());
    }
    lifted[fold.get()] = loads_of(*fold, when, scope);
  }

  /// The accumulators of a fold that is evaluated under a condition, as loads of a new stage; none
  /// for a fold over the carries of a scan.
  std::vector<Scalar> loads_of(const ScalarNode& fold, const Scalar& when,
                               std::span<const Axis> scope) {
    size_t k = num_accumulators(fold);
    std::vector<ScalarRef> args = fold.args;
    if (when.node() != nullptr) {
      if (args.size() == k) {
        args.push_back(when.ref());
      } else {
        args[k] = (when && Scalar(args[k])).ref();
      }
    }
    std::vector<const ScalarNode*> nodes = post_order(args);
    NodeNumbers numbers = number_nodes(nodes);
    std::vector<FreeSet> free = free_sets(nodes, numbers);
    std::vector<bool> used(out_.num_axes);
    for (const ScalarRef& arg : args) {
      for (uint32_t id : free[numbers.at(arg.get())]) {
        if ((id & kVarFlag) != 0) return {};
        used[id] = true;
      }
    }
    Map map;
    AxisValues names;
    std::vector<ScalarRef> at;
    for (const Axis& axis : scope) {
      if (!used[axis.id]) continue;
      map.axes.push_back({out_.num_axes++, axis.extent});
      names.emplace(axis.id, index_of(map.axes.back()).ref());
      at.push_back(index_of(axis).ref());
    }
    Ref<ScalarNode> copy = copy_node(fold);
    copy->args = renaming(names)(args);
    if (when.node() != nullptr && copy->combiner->needs_element) {
      auto combiner = std::make_shared<Combiner>(*copy->combiner);
      combiner->needs_element = false;  // nobody asks where it has no element
      copy->combiner = std::move(combiner);
    }
    Stage stage;
    for (size_t j = 0; j < k; ++j) {
      ScalarRef value = copy;
      if (k > 1) {
        Ref<ScalarNode> get = new_node(ScalarKind::kGet, copy->args[j]->dtype);
        get->id = static_cast<uint32_t>(j);
        get->args.push_back(copy);
        value = get;
      }
      map.values.push_back(value);
      stage.outputs.push_back({extents_of(map.axes), value->dtype});
    }
    lift(map);  // what is folded inside
    stage.body = std::move(map);
    auto number = static_cast<int32_t>(out_.stages.size());
    std::vector<Scalar> loads;
    for (size_t j = 0; j < k; ++j) {
      Ref<ScalarNode> load = new_node(ScalarKind::kLoad, stage.outputs[j].dtype);
      load->tensor = {number, static_cast<int32_t>(j)};
      load->bounds = Bounds::kProven;
      load->args = at;
      loads.emplace_back(load);
    }
    out_.stages.push_back(std::move(stage));
    return loads;
  }

  static ScalarRewriter renaming(const AxisValues& names) {
    return ScalarRewriter([&names](const ScalarRef& node, const std::vector<ScalarRef>&) {
      if (node->kind != ScalarKind::kIndex) return ScalarRef();
      auto found = names.find(node->axis);
      return found == names.end() ? ScalarRef() : found->second;
    });
  }

  const Computation& in_;
  Computation out_;
  std::vector<int32_t> stages_;  // new numbers of the old stages
};

}  // namespace

const ScalarNode* only_fold(const Map& map) {
  const ScalarNode* only = nullptr;
  for (const ScalarRef& value : map.values) {
    const ScalarNode* fold = value->kind == ScalarKind::kGet ? value->args[0].get() : value.get();
    if (fold->kind != ScalarKind::kFold || (only != nullptr && only != fold)) return nullptr;
    only = fold;
  }
  return only;
}

Computation lift_folds(const Computation& computation) { return Lifter(computation).run(); }

}  // namespace relay::te
