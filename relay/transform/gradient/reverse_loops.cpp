// Calls of loops, forward and backward.
#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/op/registry/barrier.h>
#include <relay/transform/gradient/parts.h>
#include <relay/transform/gradient/reverse.h>
#include <relay/transform/op_calls.h>

namespace relay::grad {

// A loop that gradients flow through gives the record of its run, too. In a branch of an if, which
// has no slot for a record, the loop runs again before it runs backward: a node for both would be
// outside of the branches and run in any case.
bool Reverse::forward_loop(uint32_t id, std::span<const ExprRef> operands) {
  const Expr* expr = regions_.expr(id);
  if (loops_ == nullptr || !varied_[id] || !loops_->is_loop_call(expr)) return false;
  std::vector<bool> active;
  for (size_t i = 1; i < operands.size(); ++i) {
    const uint32_t operand = target(id, i);
    const bool any = operand != kNone && varied_[operand];
    active.push_back(any && leaf_table_.count(expr->operands()[i]->type()) > 0);
  }
  const auto saving = savings_.find(id);
  const Loops::Slope& slope =
      loops_->slope(static_cast<const Call&>(*expr), active,
                    saving == savings_.end() ? Loops::Saving() : saving->second);
  const ExprRef call =
      make_call(make_global_var(slope.run), operands.subspan(1), {}, {}, expr->span());
  loop_runs_[id] = {&slope, call};
  const uint32_t around = regions_.region(regions_.home(id)).owner;
  const bool in_branch = around != kNone && regions_.kind(around) == ExprKind::kIf;
  if (!in_branch) values_[id] = make_projection(call, 0, expr->span());
  return !in_branch;
}

void Reverse::backward_loop(uint32_t id, const Leaves& gradients) {
  const auto& [slope, run] = loop_runs_.at(id);
  const Expr* expr = regions_.expr(id);
  std::vector<ExprRef> args{make_projection(run, 1, expr->span())};
  for (size_t i : slope->kept) args.push_back(run->operands()[i + 1]);
  args.push_back(from_leaves(types_[id], values_[id], gradients));
  const ExprRef all = make_call(make_global_var(slope->back), args, {}, {}, expr->span());
  uint32_t next = 0;
  for (size_t i = 0; i < slope->active.size(); ++i) {
    if (!slope->active[i]) continue;
    const uint32_t operand = target(id, i + 1);
    uint32_t leaf = 0;
    const ExprRef found = make_projection(all, next++, expr->span());
    for_each_tensor(expr->operands()[i + 1]->type(), found,
                    [&](const Type* tensor, const ExprRef& value) {
                      if (is_leaf(tensor)) add(operand, leaf++, value);
                    });
  }
}

// Loops between checkpoints save few turns: no more than the next checkpoint says.
void Reverse::find_savings() {
  std::vector<uint32_t> checkpoints;
  for (uint32_t id = 0; id < regions_.num_nodes(); ++id) {
    if (is_checkpoint(regions_.expr(id))) checkpoints.push_back(id);
  }
  PointerSet<Expr> seen;
  for (uint32_t checkpoint : checkpoints) {
    const int64_t bytes = checkpoint_bytes(regions_.expr(checkpoint));
    std::vector<uint32_t> work{target(checkpoint, 1)};
    while (!work.empty()) {
      const uint32_t id = work.back();
      work.pop_back();
      if (id == kNone || id >= regions_.num_nodes()) continue;
      const Expr* expr = regions_.expr(id);
      if (is_checkpoint(expr) || !seen.insert(expr)) continue;
      if (loops_->is_loop_call(expr)) savings_[id] = {true, bytes};
      for (size_t i = 0; i < regions_.num_operands(id); ++i) work.push_back(target(id, i));
    }
  }
}

// ---- Checkpoints: what led to one since those before is computed again where its gradient is
// known

/// The nodes that led to a checkpoint, in order, and the values that they begin with: other
/// checkpoints, variables, ifs, and what runs outside of the branch that the checkpoint is in.
struct Reverse::Recomputed {
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> inputs;
};

Reverse::Recomputed Reverse::led_to(uint32_t checkpoint) const {
  Recomputed found;
  const uint32_t home = regions_.home(checkpoint);
  auto inside = [&](uint32_t id) {
    if (id >= regions_.num_nodes() || regions_.home(id) != home) return false;
    const Expr* expr = regions_.expr(id);
    if (expr->is<Tuple>()) return is_tensorial(types_[id]);
    if (const auto* projection = expr->as<TupleGetItem>())
      return is_tensorial(projection->tuple()->type());
    return called_op(expr) != nullptr && called_op(expr)->pure() && !is_checkpoint(expr) &&
           dataflow_[id];
  };
  std::vector<bool> seen(types_.size());
  std::vector<std::pair<uint32_t, size_t>> stack;
  auto enter = [&](uint32_t id) {
    if (id == kNone || seen[id]) return;
    seen[id] = true;
    if (inside(id)) {
      stack.emplace_back(id, 0);
    } else if (id >= regions_.num_nodes() || regions_.kind(id) != ExprKind::kConstant) {
      found.inputs.push_back(id);
    }
  };
  enter(target(checkpoint, 1));
  while (!stack.empty()) {
    auto& [id, next] = stack.back();
    if (next < regions_.num_operands(id)) {
      enter(target(id, next++));
      continue;
    }
    found.nodes.push_back(id);
    stack.pop_back();
  }
  return found;
}

/// The nodes as a function of their inputs, typed; parameters are in the order of the inputs.
FunctionRef Reverse::recomputation(const Recomputed& what, uint32_t result) const {
  std::unordered_map<uint32_t, ExprRef> values;
  std::vector<VarRef> params;
  for (uint32_t id : what.inputs) {
    params.push_back(make_var("x", TypeRef(types_[id])));
    values[id] = params.back();
  }
  auto value = [&](const ExprRef& operand, uint32_t id) {
    auto known = id == kNone ? values.end() : values.find(id);
    return known != values.end() ? known->second
           : id == kNone         ? operand
                                 : ExprRef(regions_.expr(id));
  };
  for (uint32_t id : what.nodes) {
    const Expr* expr = regions_.expr(id);
    std::vector<ExprRef> operands;
    for (size_t i = 0; i < expr->operands().size(); ++i)
      operands.push_back(value(expr->operands()[i], target(id, i)));
    values[id] = rebuild(expr, operands);
  }
  const ExprRef body = value({}, result);
  Module alone;
  const FunctionRef function = make_function(std::move(params), body);
  alone.add_function(Name("again"), FunctionRef(copy_nodes(function)->as<Function>()));
  infer_types_or_throw(alone);
  return FunctionRef(alone.function(Name("again")));
}

void Reverse::backward_checkpoint(uint32_t id, const Leaves& gradients) {
  const uint32_t result = target(id, 1);
  if (result == kNone) return;
  const Recomputed what = led_to(id);
  if (what.nodes.empty()) {
    for (uint32_t leaf = 0; leaf < gradients.size(); ++leaf) add(result, leaf, gradients[leaf]);
    return;
  }
  ExprRef after;
  for (const ExprRef& gradient : gradients) after = after ? after : gradient;
  if (!after) return;
  GradientForm form;
  form.from_result = true;
  form.with_value = false;
  form.params.emplace();
  for (size_t i = 0; i < what.inputs.size(); ++i) {
    if (varied_[what.inputs[i]]) form.params->push_back(i);
  }
  if (form.params->empty()) return;
  const FunctionRef back = dataflow_gradient(*recomputation(what, result), form);
  const Span span = regions_.expr(id)->span();
  std::unordered_map<const Var*, ExprRef> values;
  for (size_t i = 0; i < what.inputs.size(); ++i)
    values[back->params()[i].get()] = make_barrier(value_of(what.inputs[i]), after, span);
  values[back->params().back().get()] = from_leaves(types_[result], value_of(id), gradients);
  const ExprRef found = substitute(back->body(), values);
  for (size_t k = 0; k < form.params->size(); ++k) {
    const uint32_t input = what.inputs[(*form.params)[k]];
    uint32_t leaf = 0;
    for_each_tensor(types_[input], field_of(found, k),
                    [&](const Type* tensor, const ExprRef& gradient) {
                      if (is_leaf(tensor)) add(input, leaf++, gradient);
                    });
  }
}

}  // namespace relay::grad
