#include <relay/pattern/groups.h>

#include <algorithm>

#include <relay/ir/effects.h>
#include <relay/ir/visit.h>

namespace relay::pattern {

namespace {

bool is_name(const Expr* expr) {
  return expr->is<Op>() || expr->is<GlobalVar>() || expr->is<Constructor>();
}

/// True for a part that a constant fits as such, so that it belongs to what is cut out.
bool embeds(const DFPattern* part, const Expr* expr, std::span<const Binding> bindings) {
  if (!expr->is<Constant>() && !expr->is<Literal>()) return false;
  while (part->kind() == DFPatternKind::kAlt) {
    bool first = std::any_of(bindings.begin(), bindings.end(), [&](const Binding& binding) {
      return binding.pattern == part->child(0).get() && binding.expr == expr;
    });
    part = part->child(first ? 0 : 1).get();
  }
  return part->kind() == DFPatternKind::kConstant || part->kind() == DFPatternKind::kNumber ||
         part->kind() == DFPatternKind::kExpr;
}

class Finder {
 public:
  Finder(const CompiledPattern& pattern, Surroundings& around)
      : pattern_(pattern), around_(around), matcher_(around) {}

  std::vector<Group> find() {
    const View& view = around_.view();
    for (uint32_t id = view.size(); id-- > 0;) {
      const Expr* expr = view.expr(id);
      if (taken_.contains(expr) || partitioned(expr)) continue;
      if (matcher_.match(pattern_, expr)) add(expr);
    }
    return std::move(groups_);
  }

 private:
  // Users come first, so a function is seen before what is inside.
  bool partitioned(const Expr* expr) {
    const auto* function = expr->as<Function>();
    if (function != nullptr && !inside_.contains(expr) && function->attrs() &&
        !dict_attr(function->attrs(), "PartitionedFromPattern").is_none()) {
      post_order(expr, [&](const Expr* inner) { inside_.insert(inner); });
    }
    return inside_.contains(expr);
  }

  void add(const Expr* root) {
    Group group{root, {}, {}, {}, number_++};
    std::span<const Binding> bindings = matcher_.bindings();
    group.bindings.assign(bindings.begin(), bindings.end());
    find_inputs(group);
    find_nodes(group);
    if (!separate(group)) return;
    for (const Expr* expr : group.nodes) {
      if (!is_name(expr) && !shared(expr)) taken_.insert(expr);
    }
    taken_.insert(root);
    groups_.push_back(std::move(group));
  }

  // Leaves of the pattern, and what fits no part of it: arguments of calls with any arguments.
  void find_inputs(Group& group) {
    PointerSet<Expr> between;  // of dominators, and in functions: what leaves fit there is inside
    for (const Binding& binding : group.bindings) {
      if (binding.pattern->kind() == DFPatternKind::kDominator) {
        for (const Binding& inner : group.bindings) {
          if (inner.pattern == binding.pattern->child(0).get() ||
              inner.pattern == binding.pattern->child(1).get()) {
            between.insert(inner.expr);
          }
        }
      }
      if (const auto* function = binding.expr->as<Function>();
          function != nullptr && binding.pattern->kind() == DFPatternKind::kFunction) {
        post_order(function->body().get(), [&](const Expr* expr) { between.insert(expr); });
        for (const VarRef& param : function->params()) between.insert(param.get());
      }
    }
    PointerSet<Expr> known;
    auto input = [&](const Expr* expr, const DFPattern* part) {
      if (between.contains(expr) || is_name(expr) || expr->is<Function>()) return;
      if (embeds(part, expr, group.bindings)) return;
      if (known.insert(expr)) group.inputs.push_back(expr);
    };
    PointerMap<DFPattern, std::vector<const Expr*>> fitting;
    for (const Binding& binding : group.bindings) fitting[binding.pattern].push_back(binding.expr);
    for (const DFPattern* part : pattern_.parts()) {
      const auto* fits = fitting.find(part);
      if (fits == nullptr) continue;
      for (const Expr* expr : *fits) {
        if (part->any() && part->kind() == DFPatternKind::kTuple) {
          for (const ExprRef& field : expr->operands()) input(field.get(), part);
        } else if (part->any() && part->kind() == DFPatternKind::kCall) {
          for (const ExprRef& arg : expr->as<Call>()->args()) input(arg.get(), part);
        } else if (part->children().empty() && !part->target()) {
          input(expr, part);
        }
      }
    }
  }

  void find_nodes(Group& group) {
    struct Frame {
      const Expr* expr;
      uint32_t next;
    };
    PointerSet<Expr> seen;
    for (const Expr* input : group.inputs) seen.insert(input);
    if (!seen.insert(group.root)) {  // a leaf fits the root: it is all that there is
      group.nodes.push_back(group.root);
      return;
    }
    std::vector<Frame> stack{{group.root, 0}};
    while (!stack.empty()) {
      auto [expr, next] = stack.back();
      if (next == expr->operands().size()) {
        group.nodes.push_back(expr);
        stack.pop_back();
        continue;
      }
      ++stack.back().next;
      const Expr* operand = expr->operands()[next].get();
      if (seen.insert(operand)) stack.push_back({operand, 0});
    }
  }

  static bool shared(const Expr* expr) {
    return expr->is<Function>() || expr->is<Constant>() || expr->is<Literal>();
  }

  // Nothing inside is part of another group, or needed elsewhere, or would run at another time.
  bool separate(const Group& group) {
    const View& view = around_.view();
    PointerSet<Expr> own;
    for (const Expr* expr : group.nodes) own.insert(expr);
    uint32_t root = view.id(group.root);
    bool binds = false;
    for (const Expr* expr : group.nodes) {
      binds |= expr->is<Let>() || expr->is<Match>() || expr->is<If>() || expr->is<Function>();
      if (is_name(expr) || shared(expr)) continue;
      if (taken_.contains(expr)) return false;
      if (expr == group.root) continue;
      for (const Users::Use& use : view.users()[view.id(expr)]) {
        if (!own.contains(view.expr(use.user)) && !view.post_dominators().passes(use.user, root))
          return false;
      }
    }
    return runs_the_same(group) && (!binds || inputs_stand_alone(group));
  }

  bool runs_the_same(const Group& group) {
    const Effects& effects = this->effects();
    if (!effects.any()) return true;
    for (const Expr* expr : group.nodes) {
      if (expr != group.root && effects.acts(expr)) return false;
    }
    return true;
  }

  // Inputs become arguments: they must not need variables that the group binds, nor act in a
  // branch.
  bool inputs_stand_alone(const Group& group) {
    PointerSet<Expr> bound;
    auto binds = [&](const VarRef& var) { bound.insert(var.get()); };
    for (const Expr* expr : group.nodes) {
      if (const auto* let = expr->as<Let>()) binds(let->var());
      if (const auto* function = expr->as<Function>())
        for (const VarRef& param : function->params()) binds(param);
      if (const auto* match = expr->as<Match>())
        for (const PatternRef& pattern : match->patterns())
          for (const VarRef& var : pattern_vars(pattern.get())) binds(var);
    }
    bool alone = true;
    for (const Expr* input : group.inputs) {
      visit_each(input, [&](const Expr* expr) {
        alone &= !bound.contains(expr) && !(effects().any() && effects().acts(expr));
        return alone;
      });
    }
    return alone;
  }

  const Effects& effects() {
    if (!effects_) effects_ = std::make_unique<Effects>(around_.root().get());
    return *effects_;
  }

  const CompiledPattern& pattern_;
  Surroundings& around_;
  Matcher matcher_;
  std::vector<Group> groups_;
  PointerSet<Expr> taken_;
  PointerSet<Expr> inside_;
  std::unique_ptr<Effects> effects_;
  uint32_t number_ = 0;
};

}  // namespace

std::vector<Group> find_groups(const CompiledPattern& pattern, Surroundings& around) {
  return Finder(pattern, around).find();
}

}  // namespace relay::pattern
