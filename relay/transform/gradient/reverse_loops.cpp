// Calls of loops, forward and backward.
#include <relay/transform/gradient/reverse.h>

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
  const Loops::Slope& slope = loops_->slope(static_cast<const Call&>(*expr), active);
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

}  // namespace relay::grad
