// Dominators: the ways from a node to what all of them end in.
#include <relay/pattern/matcher.h>

namespace relay::pattern {

namespace {

/// The nodes that a node is computed from.
std::span<const ExprRef> inputs(const Expr* expr) {
  const auto* call = expr->as<Call>();
  return call == nullptr ? expr->operands() : call->args();
}

}  // namespace

bool Matcher::begin_ways(const Goal& goal) {
  Ways& ways = ways_.emplace_back();
  ways.child = goal.expr;
  for (const ExprRef& input : inputs(goal.expr)) {
    if (ways.seen.insert(input.get())) ways.steps.push_back({input.get(), kEnd});
  }
  Goal first = goal;
  first.ways = static_cast<uint32_t>(ways_.size()) - 1;
  goals_ = push(Task::kWays, first, goal.part, goal.expr, goal.next);
  return true;
}

bool Matcher::next_way(const Goal& goal) {
  Ways& ways = ways_[goal.ways];
  if (ways.done == ways.steps.size()) {
    if (ways.parent == nullptr || !closed(ways)) return false;
    goals_ = goal.next;
    return true;
  }
  const Expr* expr = ways.steps[ways.done].expr;
  if (expr == ways.parent) {
    ++ways.done;
    return true;  // the same goal again
  }
  if (const PointerSet<Expr>* dead = dead_ends(goal.part); dead != nullptr && dead->contains(expr))
    return ways.parent == nullptr && way_is_dead(goal, ways.done);
  auto height = static_cast<uint32_t>(points_.size());
  bool parent_is_open = ways.parent == nullptr;
  if (parent_is_open) point(push(Task::kDeadEnd, goal, goal.part, expr, kEnd));
  Goal free = goal;
  free.free = true;
  uint32_t on = push(Task::kGoesOn, goal, goal.part, expr, goals_);
  on = push(Task::kCut, goal, height, expr, on);
  on = push(Task::kMatch, free, pattern_->child(goal.part, 1), expr, on);
  if (!parent_is_open) {
    goals_ = on;
    return true;
  }
  point(on);
  uint32_t end = push(Task::kEndsHere, goal, goal.part, expr, goals_);
  end = push(Task::kCut, goal, height, expr, end);
  goals_ = push(Task::kMatch, goal, pattern_->child(goal.part, 0), expr, end);
  return true;
}

bool Matcher::way_goes_on(const Goal& goal) {
  Ways& ways = ways_[goal.ways];
  auto at = static_cast<uint32_t>(ways.done);
  if (inputs(goal.expr).empty()) return ways.parent == nullptr && way_is_dead(goal, at);
  for (const ExprRef& input : inputs(goal.expr)) {
    if (ways.seen.insert(input.get())) ways.steps.push_back({input.get(), at});
  }
  ++ways.done;
  goals_ = goal.next;
  return true;
}

// Where the parent was not found before a way ended badly, none of the nodes on this way is a
// parent, so that no other way through them ends well.
bool Matcher::way_is_dead(const Goal& goal, size_t at) {
  PointerSet<Expr>* dead = dead_ends(goal.part);
  const Ways& ways = ways_[goal.ways];
  while (dead != nullptr && at != kEnd) {
    dead->insert(ways.steps[at].expr);
    at = ways.steps[at].from;
  }
  return false;
}

PointerSet<Expr>* Matcher::dead_ends(uint32_t part) {
  if (!pattern_->parts_[part].independent) return nullptr;
  return &dead_[{pattern_, part}];
}

// Nothing but the child, or what lies between, uses what lies between or the parent.
bool Matcher::closed(const Ways& ways) {
  const View& view = around_.view();
  for (const Ways::Step& step : ways.steps) {
    uint32_t id = view.id(step.expr);
    if (id == View::kNone) return false;
    for (const Users::Use& use : view.users()[id]) {
      const Expr* by = view.expr(use.user);
      if (by != ways.child && !ways.seen.contains(by)) return false;
    }
  }
  return true;
}

}  // namespace relay::pattern
