#include <relay/ir/visit.h>

namespace relay {

void Walker::walk(const Expr* root) {
  struct Frame {
    const Expr* expr;
    uint32_t next;
    uint32_t count;
  };
  std::vector<Frame> stack;
  auto enter_node = [&](const Expr* expr) {
    if (!expr->has_one_owner() && !seen_.insert(expr)) return;
    uint32_t count = enter(expr) ? static_cast<uint32_t>(expr->operands().size()) : 0;
    stack.push_back({expr, 0, count});
  };
  enter_node(root);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next < frame.count) {
      const Expr* expr = frame.expr;
      uint32_t operand = frame.next++;
      before(expr, operand);
      enter_node(expr->operands()[operand].get());
      continue;
    }
    const Expr* expr = frame.expr;
    stack.pop_back();
    leave(expr);
  }
}

namespace {

class VarCollector final : public Walker {
 public:
  std::vector<VarRef> used;   // leaves, in order of first visit
  std::vector<VarRef> bound;  // in order of first visit
  PointerSet<Var> bound_set;

 private:
  bool enter(const Expr* expr) override {
    if (const auto* var = expr->as<Var>()) {
      if (used_set_.insert(var)) used.emplace_back(var);
    } else if (const auto* function = expr->as<Function>()) {
      for (const VarRef& param : function->params()) bind(param);
    } else if (const auto* let = expr->as<Let>()) {
      bind(let->var());
    }
    return true;
  }
  void before(const Expr* expr, uint32_t operand) override {
    const auto* match = expr->as<Match>();
    if (match == nullptr || operand == 0) return;
    for (const VarRef& var : pattern_vars(match->patterns()[operand - 1].get())) bind(var);
  }
  void bind(const VarRef& var) {
    if (bound_set.insert(var.get())) bound.push_back(var);
  }

  PointerSet<Var> used_set_;
};

}  // namespace

std::vector<VarRef> free_vars(const Expr* root) {
  VarCollector collector;
  collector.walk(root);
  std::vector<VarRef> result;
  for (VarRef& var : collector.used) {
    if (!collector.bound_set.contains(var.get())) result.push_back(std::move(var));
  }
  return result;
}

std::vector<VarRef> bound_vars(const Expr* root) {
  VarCollector collector;
  collector.walk(root);
  return std::move(collector.bound);
}

size_t count_nodes(const Expr* root) {
  size_t count = 0;
  visit_each(root, [&count](const Expr*) {
    ++count;
    return true;
  });
  return count;
}

}  // namespace relay
