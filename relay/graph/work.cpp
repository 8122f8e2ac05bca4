#include <relay/graph/work.h>

#include <algorithm>
#include <unordered_map>

#include <relay/ir/dim_extents.h>
#include <relay/ir/numbered_symbol.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {

Dim work_symbol(size_t k) { return numbered_symbol("d", k); }
Dim graph_symbol(size_t k) { return numbered_symbol("g", k); }
Dim work_value(size_t k) { return numbered_value("e", k); }
Dim graph_value(size_t k) { return numbered_value("ge", k); }

Dim Work::symbol(size_t k) const {
  return k < num_symbols - elements.size() ? work_symbol(k) : work_value(k);
}

void for_each_dim(const Group& group, const std::function<void(Dim)>& visit) {
  const te::Computation& computation = group.computation;
  auto all = [&](const std::vector<Dim>& dims) {
    for (Dim dim : dims) visit(dim);
  };
  for (const te::Stage& stage : computation.stages) {
    for (const te::TensorInfo& output : stage.outputs) all(output.dims);
    if (const auto* view = std::get_if<te::View>(&stage.body)) {
      visit(view->offset);
      all(view->extents);
      all(view->strides);
    }
    for (const te::Axis& axis : te::stage_axes(stage)) visit(axis.extent);
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      if (node->kind == te::ScalarKind::kFromDim) visit(node->dim);
      for (const te::Axis& axis : node->axes) visit(axis.extent);
    }
  }
  for (const te::Output& output : computation.outputs) all(output.dims);
  for (const Condition& check : group.checks) {
    visit(check.a);
    visit(check.b);
    all(check.message.dims);
  }
  for (const ResultDim& result : group.results) {
    visit(result.dim);
    if (result.message) all(result.message->dims);
  }
}

std::vector<Condition> lost_conditions(const ResultDim& made,
                                       const std::function<Dim(Dim dim)>& replaced) {
  std::vector<Condition> conditions;
  const std::vector<Dim> joined = joined_extents(made.dim);
  if (joined.size() < 2 || !made.message) return conditions;
  const Dim whole = replaced(made.dim);
  if (whole.is_any()) return conditions;
  const std::vector<Dim> kept = joined_extents(whole);
  for (Dim each : joined) {
    for (Dim extent : joined_extents(replaced(each))) {
      if (extent.is_int(1) || std::find(kept.begin(), kept.end(), extent) != kept.end()) continue;
      conditions.push_back({(extent - 1) * (extent - whole), 0, *made.message, made.origin});
    }
  }
  return conditions;
}

// Replaces atoms in every dimension of a group.
void substitute_dims(Group& group, const std::function<Dim(Dim)>& replace) {
  te::Computation& computation = group.computation;
  auto change = [&](Dim& dim) {
    if (dim.is_term()) dim = substitute(dim, replace);
  };
  auto all = [&](std::vector<Dim>& dims) {
    for (Dim& dim : dims) change(dim);
  };
  auto axes = [&](std::vector<te::Axis>& list) {
    for (te::Axis& axis : list) change(axis.extent);
  };
  te::ScalarRewriter rewrite(
      [&](const te::ScalarRef& node, const std::vector<te::ScalarRef>& args) -> te::ScalarRef {
        if (node->kind == te::ScalarKind::kFromDim) {
          Dim dim = node->dim;
          change(dim);
          return te::from_dim(dim).ref();
        }
        if (node->kind != te::ScalarKind::kFold) return {};
        Ref<te::ScalarNode> copy = te::copy_node(*node);
        axes(copy->axes);
        copy->args = args;
        return copy;
      });
  for (te::TensorInfo& input : computation.inputs) all(input.dims);
  for (te::Stage& stage : computation.stages) {
    te::rewrite_roots(stage, [&](const te::ScalarRef& root) { return rewrite(root); });
    for (te::TensorInfo& output : stage.outputs) all(output.dims);
    if (auto* map = std::get_if<te::Map>(&stage.body)) axes(map->axes);
    if (auto* scan = std::get_if<te::Scan>(&stage.body)) axes(scan->axes);
    if (auto* update = std::get_if<te::Update>(&stage.body)) axes(update->axes);
    if (auto* view = std::get_if<te::View>(&stage.body)) {
      change(view->offset);
      all(view->extents);
      all(view->strides);
    }
  }
  for (te::Output& output : computation.outputs) all(output.dims);
  for (Condition& check : group.checks) {
    change(check.a);
    change(check.b);
    all(check.message.dims);
  }
  std::vector<Condition> lost;
  for (ResultDim& result : group.results) {
    if (result.message) all(result.message->dims);
    for (Condition& each :
         lost_conditions(result, [&](Dim dim) { return substitute(dim, replace); }))
      lost.push_back(std::move(each));
    change(result.dim);
  }
  group.checks.insert(group.checks.end(), lost.begin(), lost.end());
  for (auto& [dims, origin] : group.shapes) all(dims);
}

WorkRef make_work(std::string name, std::string source, Group group) {
  auto work = std::make_shared<Work>();
  work->name = std::move(name);
  work->source = std::move(source);
  work->group = std::move(group);
  std::unordered_map<Dim, Dim> symbol_of;  // of what is no symbol of a work yet
  std::vector<Dim> extents;
  for (const te::TensorInfo& input : work->group.computation.inputs) {
    for (Dim dim : input.dims) {
      if (dim.is_int() || std::find(extents.begin(), extents.end(), dim) != extents.end()) continue;
      extents.push_back(dim);
    }
  }
  work->num_symbols = extents.size();
  for (size_t k = 0; k < extents.size(); ++k) {
    RELAY_CHECK(std::find(extents.begin(), extents.end(), work_symbol(k)) != extents.end(),
                "extents of a work that are not its symbols");
  }
  for_each_dim(work->group, [&](Dim dim) {
    if (dim.is_int() || !dim.is_term()) return;
    for_each_atom(dim, [&](Dim atom) {
      if (!atom.is_term() || atom.term().op != DimOp::kValue || atom.as_symbol() != nullptr) return;
      auto [entry, added] = symbol_of.try_emplace(atom);
      if (!added) return;
      entry->second = work_value(work->num_symbols++);
      work->elements.push_back({entry->second, atom.term().input, atom.term().index});
    });
  });
  if (!symbol_of.empty()) {
    substitute_dims(work->group, [&](Dim atom) {
      auto found = symbol_of.find(atom);
      return found == symbol_of.end() ? atom : found->second;
    });
  }
  return work;
}

}  // namespace relay::graph
