#include <relay/analysis/contraction.h>

#include <numeric>
#include <utility>

namespace relay {

namespace {

constexpr uint32_t kNone = View::kNone;
// The steps that all searches of one program may take.
constexpr uint64_t kStepsOfNode = 64;
constexpr uint64_t kLeastSteps = 1'000'000;

}  // namespace

Contraction::Contraction(const View& view, const NodeEffects* effects)
    : view_(view),
      parents_(view.size()),
      sizes_(view.size(), 1),
      next_(view.size()),
      before_(view.size(), kNone),
      after_(view.size(), kNone),
      marks_(view.size(), 0),
      steps_(kLeastSteps + kStepsOfNode * view.size()) {
  std::iota(parents_.begin(), parents_.end(), 0);
  std::iota(next_.begin(), next_.end(), 0);
  uint32_t last_variable = kNone;
  for (uint32_t id = 0; id < view.size(); ++id) {
    const uint32_t binder = view.kind(id) == ExprKind::kVar ? view.binder(id) : kNone;
    if (binder == kNone || view.kind(binder) != ExprKind::kLet) continue;
    if (last_variable != kNone) {
      before_[id] = last_variable;
      after_[last_variable] = id;
    }
    last_variable = id;
  }
  if (effects == nullptr || !effects->any()) return;
  effect_before_.assign(view.size(), kNone);
  effect_after_.assign(view.size(), kNone);
  uint32_t last = kNone;
  for (uint32_t id = 0; id < view.size(); ++id) {
    if (!effects->acts(id)) continue;
    if (last != kNone) {
      effect_before_[id] = last;
      effect_after_[last] = id;
    }
    last = id;
  }
}

uint32_t Contraction::find(uint32_t node) {
  while (parents_[node] != node) {
    parents_[node] = parents_[parents_[node]];
    node = parents_[node];
  }
  return node;
}

void Contraction::predecessors(uint32_t node, std::vector<uint32_t>& out) const {
  auto operands = view_.operands(node);
  out.assign(operands.begin(), operands.end());
  if (view_.kind(node) == ExprKind::kVar) {
    const uint32_t binder = view_.binder(node);
    const bool computed = binder != kNone && view_.kind(binder) != ExprKind::kFunction;
    if (computed) out.push_back(view_.operands(binder)[0]);
    if (before_[node] != kNone) out.push_back(before_[node]);
  }
  if (!effect_before_.empty() && effect_before_[node] != kNone) out.push_back(effect_before_[node]);
}

void Contraction::successors(uint32_t node, std::vector<uint32_t>& out) const {
  out.clear();
  for (const Users::Use& use : view_.users()[node]) {
    out.push_back(use.user);
    if (use.operand != 0) continue;
    const Expr* user = view_.expr(use.user);
    if (const auto* let = user->as<Let>()) {
      out.push_back(view_.id(let->var().get()));
    } else if (const auto* match = user->as<Match>()) {
      for (const PatternRef& pattern : match->patterns()) {
        for (const VarRef& var : pattern_vars(pattern.get())) out.push_back(view_.id(var.get()));
      }
    }
  }
  if (after_[node] != kNone) out.push_back(after_[node]);
  if (!effect_after_.empty() && effect_after_[node] != kNone) out.push_back(effect_after_[node]);
}

/// One side of a search: groups to go through, each node by node.
struct Contraction::Search {
  std::vector<uint32_t> groups;
  uint32_t group = kNone;
  uint32_t node = kNone;  // the next one of the group

  bool next(const std::vector<uint32_t>& ring, uint32_t& out) {
    if (node == kNone) {
      if (groups.empty()) return false;
      group = node = groups.back();
      groups.pop_back();
    }
    out = node;
    node = ring[node] == group ? kNone : ring[node];
    return true;
  }
};

// Searches from both ends at the same time: one of them mostly ends soon.
bool Contraction::other_way(uint32_t from, uint32_t to) {
  Search forward{{from}}, backward{{to}};
  const uint32_t seen_forward = ++mark_;
  const uint32_t seen_backward = ++mark_;
  std::vector<uint32_t> near;
  uint32_t node = 0;
  for (;;) {
    if (steps_ == 0) return true;
    --steps_;
    if (!backward.next(next_, node)) return false;
    predecessors(node, near);
    for (uint32_t other : near) {
      const uint32_t group = find(other);
      if (group == from && backward.group != to) return true;
      if (group == from || group == to || marks_[group] == seen_backward) continue;
      if (marks_[group] == seen_forward) return true;
      marks_[group] = seen_backward;
      backward.groups.push_back(group);
    }
    if (!forward.next(next_, node)) return false;
    successors(node, near);
    for (uint32_t other : near) {
      const uint32_t group = find(other);
      if (group == to && forward.group != from) return true;
      if (group == from || group == to || marks_[group] == seen_forward) continue;
      if (marks_[group] == seen_backward) return true;
      marks_[group] = seen_forward;
      forward.groups.push_back(group);
    }
  }
}

bool Contraction::join(uint32_t first, uint32_t second) {
  uint32_t from = find(first);
  uint32_t to = find(second);
  if (from == to) return true;
  if (other_way(from, to)) return false;
  if (sizes_[from] < sizes_[to]) std::swap(from, to);
  parents_[to] = from;
  sizes_[from] += sizes_[to];
  std::swap(next_[from], next_[to]);
  return true;
}

}  // namespace relay
