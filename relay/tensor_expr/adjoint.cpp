// Contributions to gradients, and their sums.
#include <algorithm>

#include <relay/tensor_expr/adjoint_backward.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

/// The computation without stages that no output needs.
Computation without_unused(Computation c) {
  const std::vector<bool> used = needed_tensors(c).stages;
  std::vector<int32_t> number(c.stages.size());
  int32_t next = 0;
  for (size_t s = 0; s < used.size(); ++s) number[s] = used[s] ? next++ : -1;
  auto moved = [&](TensorId id) {
    return id.is_input() ? id : TensorId{number[static_cast<size_t>(id.stage)], id.index};
  };
  std::vector<Stage> kept;
  ScalarRewriter rename = moved_loads(moved);
  for (size_t s = 0; s < used.size(); ++s) {
    if (!used[s]) continue;
    Stage& stage = c.stages[s];
    rewrite_roots(stage, [&](const ScalarRef& root) { return rename(root); });
    if (auto* update = std::get_if<Update>(&stage.body)) update->base = moved(update->base);
    if (auto* view = std::get_if<View>(&stage.body)) view->source = moved(view->source);
    if (auto* library = std::get_if<Library>(&stage.body)) {
      for (TensorId& id : library->inputs) id = moved(id);
    }
    kept.push_back(std::move(stage));
  }
  c.stages = std::move(kept);
  for (Output& output : c.outputs) output.tensor = moved(output.tensor);
  return c;
}

/// The same computation with the gradients as further inputs and without results.
Computation with_gradients(Computation c) {
  for (const Output& output : c.outputs) {
    if (output.counted()) throw NoAdjoint("it counts its results while it runs");
    const TensorInfo& info = c.info(output.tensor);
    if (info.dtype.is_float()) c.inputs.push_back({output.dims, info.dtype});
  }
  c.outputs.clear();
  return c;
}

bool mentions(const Scalar& value, std::span<const Axis> axes) {
  ScalarRef root[] = {value.ref()};
  for (const ScalarNode* node : post_order(root)) {
    if (node->kind != ScalarKind::kIndex) continue;
    for (const Axis& axis : axes) {
      if (axis.id == node->axis) return true;
    }
  }
  return false;
}

}  // namespace

Backward::Backward(const Computation& forward)
    : forward_(lift_folds(forward)), b_(with_gradients(forward_)) {}

Computation Backward::run() {
  find_active();
  gradients_.resize(forward_.stages.size() + 1);
  gradients_[0].resize(forward_.inputs.size());
  for (size_t s = 0; s < forward_.stages.size(); ++s) {
    gradients_[s + 1].resize(forward_.stages[s].outputs.size());
  }
  size_t next = forward_.inputs.size();
  for (const Output& output : forward_.outputs) {
    if (!forward_.info(output.tensor).dtype.is_float()) continue;
    Tensor given = b_.input(next++);
    if (is_active(output.tensor)) of(output.tensor).whole.push_back(given);
  }
  for (size_t s = forward_.stages.size(); s-- > 0;) {
    bool any = std::any_of(gradients_[s + 1].begin(), gradients_[s + 1].end(),
                           [](const Gradient& gradient) { return !gradient.empty(); });
    if (!any) continue;
    stage_ = s;
    std::visit([&](const auto& body) { pull(body); }, forward_.stages[s].body);
  }
  for (size_t i = 0; i < forward_.inputs.size(); ++i) {
    if (!forward_.inputs[i].dtype.is_float()) continue;
    b_.output(tensor_of({-1, static_cast<int32_t>(i)}));
  }
  return without_unused(b_.finish());
}

IsActive Backward::loads_active() const {
  return [this](const ScalarNode& leaf) {
    return leaf.kind == ScalarKind::kLoad && is_active(leaf.tensor);
  };
}
IsActive Backward::leaves_active() const {
  return [this](const ScalarNode& leaf) {
    return leaf.kind == ScalarKind::kVar || is_active(leaf.tensor);
  };
}

void Backward::find_active() {
  active_.resize(forward_.stages.size() + 1);
  for (const TensorInfo& info : forward_.inputs) active_[0].push_back(info.dtype.is_float());
  for (size_t s = 0; s < forward_.stages.size(); ++s) {
    const Stage& stage = forward_.stages[s];
    std::vector<char>& active = active_[s + 1];
    active.assign(stage.outputs.size(), 0);
    if (const auto* map = std::get_if<Map>(&stage.body)) {
      std::vector<ScalarRef> order = level_order(map->values);
      auto nodes = active_nodes(order, loads_active());
      for (size_t k = 0; k < active.size(); ++k) active[k] = nodes.at(map->values[k].get());
    } else if (const auto* view = std::get_if<View>(&stage.body)) {
      active[0] = is_active(view->source);
    } else {
      // All results of a scan, an update or a kernel move with whatever they read.
      bool any = false;
      for (TensorId id : stage_reads(stage)) any |= is_active(id);
      for (size_t k = 0; k < active.size(); ++k) {
        active[k] = any && stage.outputs[k].dtype.is_float();
      }
    }
  }
}

void Backward::contribute(std::span<const LeafAdjoint> leaves, std::span<const Axis> scope) {
  for (const LeafAdjoint& leaf : leaves) {
    if (leaf.leaf->kind == ScalarKind::kLoad) contribute(leaf, scope);
  }
}

void Backward::contribute(const LeafAdjoint& leaf, std::span<const Axis> scope) {
  const ScalarNode& load = *leaf.leaf;
  std::vector<Dim> dims = forward_.info(load.tensor).dims;
  Scalar value = leaf.value;
  // Narrow floats add up before they are rounded.
  const ScalarNode& node = *value.node();
  if (node.kind == ScalarKind::kCast && node.dtype.bits < 32 &&
      node.args[0]->dtype == sum_dtype(node.dtype)) {
    value = node.args[0];
  }
  auto extent_of = [&](uint32_t id) {
    for (const Axis& axis : scope) {
      if (axis.id == id) return axis.extent;
    }
    return Dim(-1);
  };
  std::vector<ScalarRef> at = load.args;
  bool moved = false;  // an index outside is another one inside
  for (size_t d = 0; d < at.size(); ++d) {
    if (load.bounds != Bounds::kClamp && load.bounds != Bounds::kWrap) break;
    if (surely_inside(affine(at[d]), dims[d], extent_of)) continue;
    moved = true;
    Scalar extent = from_dim(dims[d]);
    at[d] = load.bounds == Bounds::kWrap ? floor_mod(at[d], extent).ref()
                                         : max(min(at[d], extent - 1), index_constant(0)).ref();
  }
  if (!moved) {
    if (std::optional<Gathered> gathered = gather(at, dims, value, scope)) {
      of(load.tensor).gathered.push_back(std::move(*gathered));
      return;
    }
  }
  Bounds bounds = load.bounds == Bounds::kFill ? Bounds::kFill : Bounds::kFail;
  if (leaf.guard.node() != nullptr && !at.empty()) {
    at[0] = select(leaf.guard, at[0], index_constant(-1)).ref();
    bounds = Bounds::kFill;
  }
  of(load.tensor).scattered.push_back({{scope.begin(), scope.end()}, at, value.ref(), bounds});
}

std::optional<Gathered> Backward::gather(std::span<const ScalarRef> at, std::span<const Dim> dims,
                                         const Scalar& value, std::span<const Axis> scope) {
  auto fresh = [&](Dim extent) { return b_.axis(extent); };
  Gathered result;
  for (Dim dim : dims) result.target.push_back(fresh(dim));
  std::optional<Preimage> points = preimage(at, dims, scope, indices_of(result.target), fresh);
  if (!points) return std::nullopt;
  // Outside of a range nothing is read, best by loads that fill with 0: generators peel borders
  // off these.
  auto info = [&](TensorId tensor) -> const TensorInfo& {
    std::pair key(tensor.stage, tensor.index);
    auto found = infos_.find(key);
    if (found == infos_.end()) found = infos_.emplace(key, b_.tensor(tensor).info()).first;
    return found->second;
  };
  std::vector<const ScalarNode*> filled;
  std::vector<Scalar> conditions = points->conditions;
  for (const RangeCondition& range : points->ranges) {
    if (range.axis && vanishes_outside(value, *range.axis, range.extent, info, filled)) continue;
    conditions.push_back(range.value >= 0 && range.value < from_dim(range.extent));
  }
  result.value = substitute(fill_outside(value, filled).ref(), points->axes);
  result.free = points->free;
  for (const Scalar& condition : conditions) {
    bool inner = mentions(condition, result.free);
    Scalar& into = inner ? result.value : result.condition;
    if (inner) {
      into = select(condition, into, zero(into.dtype()));
    } else {
      into = into.node() == nullptr ? condition : into && condition;
    }
  }
  return result;
}

Scalar Backward::element(const Gathered& gathered, Indices target, DType dtype) {
  AxisValues names = bind_axes(gathered.target, target);
  Scalar value;
  if (gathered.free.empty()) {
    value = substitute(gathered.value.ref(), names);
  } else {
    value = b_.sum(extents_of(gathered.free), [&](Indices k) {
      AxisValues inner = names;
      for (auto& [axis, index] : bind_axes(gathered.free, k)) inner.emplace(axis, index);
      return Scalar(substitute(gathered.value.ref(), inner));
    });
  }
  if (gathered.condition.node() != nullptr) {
    value = select(substitute(gathered.condition.ref(), names), value, zero(value.dtype()));
  }
  return cast(value, dtype);
}

Tensor Backward::tensor_of(TensorId id) {
  Gradient gradient = std::move(of(id));
  TensorInfo info = forward_.info(id);
  if (gradient.whole.size() == 1 && gradient.gathered.empty() && gradient.scattered.empty()) {
    return gradient.whole[0];
  }
  DType dtype = sum_dtype(info.dtype);
  bool alone = gradient.gathered.size() + gradient.whole.size() == 1;
  if (!alone) {
    auto contraction = [](const Gathered& gathered) { return gathered.is_contraction(); };
    for (const Gathered& gathered : gradient.gathered) {
      if (!contraction(gathered)) continue;
      gradient.whole.push_back(
          b_.map(info.dims, [&](Indices i) { return element(gathered, i, dtype); }));
    }
    std::erase_if(gradient.gathered, contraction);
  }
  bool last = gradient.scattered.empty();
  Tensor sum = b_.map(info.dims, [&](Indices i) {
    Scalar total;
    auto add = [&](const Scalar& part) { total = total.node() == nullptr ? part : total + part; };
    for (const Tensor& tensor : gradient.whole) add(cast(tensor(i), dtype));
    for (const Gathered& gathered : gradient.gathered) add(element(gathered, i, dtype));
    if (total.node() == nullptr) total = zero(dtype);
    return last ? cast(total, info.dtype) : total;
  });
  if (last) return sum;
  for (const Scattered& scattered : gradient.scattered) {
    auto bound = [&](const ScalarRef& root, Indices i) {
      return Scalar(substitute(root, bind_axes(scattered.axes, i)));
    };
    sum = b_.update(
        sum, extents_of(scattered.axes),
        [&](Indices i) {
          std::vector<Scalar> at;
          for (const ScalarRef& index : scattered.at) at.push_back(bound(index, i));
          return at;
        },
        [&](Indices i) { return cast(bound(scattered.value, i), dtype); }, Builder::UpdateOp::kSum,
        scattered.bounds);
  }
  if (dtype == info.dtype) return sum;
  return b_.map(info.dims, [&](Indices i) { return cast(sum(i), info.dtype); });
}

std::vector<Scalar> Backward::gradients_at(std::span<const Axis> axes) {
  std::vector<Scalar> result;
  for (size_t k = 0; k < gradients_[stage_ + 1].size(); ++k) {
    bool none = of(current(k)).empty();
    result.push_back(none ? Scalar() : tensor_of(current(k))(indices_of(axes)));
  }
  return result;
}

Computation adjoint(const Computation& forward) { return Backward(forward).run(); }

}  // namespace relay::te
