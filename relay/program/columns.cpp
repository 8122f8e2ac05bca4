// The columns of a view.
#include <algorithm>

#include <relay/op/op.h>
#include <relay/program/lets.h>
#include <relay/program/view.h>

namespace relay {

// ---- Users ------------------------------------------------------------------------------------

Users::Users(const View& view) : first_(view.size() + 1) {
  for (uint32_t id = 0; id < view.size(); ++id) {
    for (uint32_t operand : view.operands(id)) ++first_[operand + 1];
  }
  for (uint32_t id = 0; id < view.size(); ++id) first_[id + 1] += first_[id];
  uses_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (uint32_t id = 0; id < view.size(); ++id) {
    auto operands = view.operands(id);
    for (uint32_t i = 0; i < operands.size(); ++i) uses_[next[operands[i]]++] = {id, i};
  }
}

// ---- Scopes -----------------------------------------------------------------------------------

Scopes::Scopes(const View& view)
    : regions_(view.root().get()), homes_(view.size()), region_nodes_(view.size(), View::kNone) {
  view_nodes_.resize(regions_.num_nodes());
  for (uint32_t node = 0; node < regions_.num_nodes(); ++node) {
    const uint32_t id = view.id(regions_.expr(node));
    view_nodes_[node] = id;
    region_nodes_[id] = node;
    homes_[id] = regions_.home(node);
  }
  for (uint32_t i = 0; i < regions_.num_regions(); ++i) {
    const Regions::Region& region = regions_.region(i);
    const bool outermost = region.owner == Regions::kNone;
    const uint32_t owner = outermost ? View::kNone : view_nodes_[region.owner];
    scopes_.push_back({owner, region.operand, region.parent, region.depth});
    const bool own = !outermost && view.kind(owner) == ExprKind::kFunction;
    functions_.push_back(own || outermost ? owner : functions_[region.parent]);
  }
  for (uint32_t id = 0; id < view.size(); ++id) {
    auto bind = [&](const VarRef& var, uint32_t home) { homes_[view.id(var.get())] = home; };
    if (const auto* function = view.expr(id)->as<Function>()) {
      for (const VarRef& param : function->params()) bind(param, place(id, 0));
    } else if (const auto* let = view.expr(id)->as<Let>()) {
      bind(let->var(), homes_[id]);
    } else if (const auto* match = view.expr(id)->as<Match>()) {
      for (size_t i = 0; i < match->patterns().size(); ++i) {
        for (const VarRef& var : pattern_vars(match->patterns()[i].get()))
          bind(var, place(id, i + 1));
      }
    }
  }
}

uint32_t Scopes::place(uint32_t node, size_t i) const {
  const uint32_t region_node = region_nodes_[node];
  const uint32_t inner =
      region_node == Regions::kNone ? Regions::kNone : regions_.region_of(region_node, i);
  return inner == Regions::kNone ? homes_[node] : inner;
}

// ---- Dominators -------------------------------------------------------------------------------

namespace {

/// The variable that the value of a let flows into; kNone if nobody reads it, and for a recursive
/// value, which its variable is part of.
uint32_t let_variable(const View& view, uint32_t let, const Users& users) {
  const uint32_t var = variable_of_let(view, let);
  const bool flows = var > view.operands(let)[0] && !users[var].empty();
  return flows ? var : View::kNone;
}

}  // namespace

Dominators::Dominators(const View& view, Direction direction) : tree_(view.size()) {
  if (direction == Direction::kToUsers) {
    go_to_users(view);
  } else {
    go_to_operands(view);
  }
}

// The nodes that several ways have in common, one after the other.
class Dominators::Meeting {
 public:
  explicit Meeting(const Tree& tree) : tree_(tree) {}
  void add(uint32_t node) {
    if (!any_) {
      node_ = node;
    } else if (node_ != View::kNone) {
      node_ = tree_.common(node_, node);
    }
    any_ = true;
  }
  uint32_t node() const { return node_; }

 private:
  const Tree& tree_;
  uint32_t node_ = View::kNone;
  bool any_ = false;
};

void Dominators::go_to_users(const View& view) {
  const Users& users = view.users();
  for (uint32_t id = view.size(); id-- > 0;) {
    Meeting meeting(tree_);
    if (!view.is_name(id)) {
      for (Users::Use use : users[id]) {
        const bool bound = use.operand == 0 && view.kind(use.user) == ExprKind::kLet;
        const uint32_t var = bound ? let_variable(view, use.user, users) : View::kNone;
        meeting.add(var == View::kNone ? use.user : var);
      }
    }
    tree_.place(id, meeting.node());
  }
}

void Dominators::go_to_operands(const View& view) {
  const Users& users = view.users();
  std::vector<uint32_t> values(view.size(), View::kNone);  // let variable → what it is bound to
  for (uint32_t id = 0; id < view.size(); ++id) {
    if (view.kind(id) != ExprKind::kLet) continue;
    const uint32_t var = let_variable(view, id, users);
    if (var != View::kNone) values[var] = view.operands(id)[0];
  }
  for (uint32_t id = 0; id < view.size(); ++id) {
    if (values[id] != View::kNone) {
      tree_.place(id, values[id]);
      continue;
    }
    Meeting meeting(tree_);
    auto operands = view.operands(id);
    // The result of a let is its body's; the value reaches it through the variable.
    if (view.kind(id) == ExprKind::kLet) operands = operands.subspan(1);
    for (uint32_t operand : operands) {
      if (!view.is_name(operand)) meeting.add(operand);
    }
    tree_.place(id, meeting.node());
  }
}

// ---- Liveness ---------------------------------------------------------------------------------

Liveness::Liveness(const View& view) : last_(view.size(), View::kNone), escapes_(view.size()) {
  const Users& users = view.users();
  const Scopes& scopes = view.scopes();
  // The node of the scope `home` that `node`, at home in it or further inside, runs in. A function
  // literal that is called there is made after the arguments.
  auto lifted = [&](uint32_t node, uint32_t place, uint32_t home) {
    while (place != home) {
      node = scopes[place].owner;
      place = scopes.home(node);
    }
    if (view.kind(node) != ExprKind::kFunction || users[node].size() != 1) return node;
    const Users::Use use = users[node][0];
    return use.operand == 0 && view.kind(use.user) == ExprKind::kCall ? use.user : node;
  };
  for (uint32_t id = view.size(); id-- > 0;) {
    if (view.is_name(id)) continue;
    const uint32_t home = scopes.home(id);
    if (users[id].empty() && id + 1 == view.size()) escapes_[id] = true;
    for (Users::Use use : users[id]) {
      const uint32_t place = scopes.place(use.user, use.operand);
      const bool let = view.kind(use.user) == ExprKind::kLet;
      uint32_t last = View::kNone;
      if (let && use.operand == 1) {  // the let's result
        if (escapes_[use.user]) escapes_[id] = true;
        last = last_[use.user];
      } else if (let) {
        const uint32_t var = variable_of_let(view, use.user);
        if (escapes_[var]) escapes_[id] = true;
        last = last_[var];
      } else if (place == home && place != scopes.home(use.user)) {
        escapes_[id] = true;  // the result of a branch, clause or body
        continue;
      } else {
        last = lifted(use.user, place, home);
      }
      if (last != View::kNone && (last_[id] == View::kNone || last > last_[id])) last_[id] = last;
    }
    if (escapes_[id]) last_[id] = View::kNone;
  }
}

}  // namespace relay
