#include <relay/pattern/flow_graph.h>

#include <relay/ir/visit.h>

namespace relay::pattern {

FlowGraph::FlowGraph(const Expr* root) {
  post_order(root, [&](const Expr* expr) {
    numbers_[expr] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(expr);
  });
}

uint32_t FlowGraph::number(const Expr* expr) const {
  const uint32_t* found = numbers_.find(expr);
  return found == nullptr ? kNone : *found;
}

void FlowGraph::find_users() {
  first_user_.assign(nodes_.size() + 1, 0);
  for (const Expr* expr : nodes_) {
    for (const ExprRef& operand : expr->operands()) ++first_user_[numbers_.at(operand.get()) + 1];
  }
  for (size_t i = 0; i < nodes_.size(); ++i) first_user_[i + 1] += first_user_[i];
  users_.resize(first_user_.back());
  std::vector<uint32_t> next(first_user_.begin(), first_user_.end() - 1);
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    for (const ExprRef& operand : nodes_[id]->operands())
      users_[next[numbers_.at(operand.get())]++] = id;
  }
}

std::span<const uint32_t> FlowGraph::users(uint32_t id) {
  if (first_user_.empty()) find_users();
  return {users_.data() + first_user_[id], first_user_[id + 1] - first_user_[id]};
}

// Users have greater numbers, so one walk from the root finds each node's dominator: the lowest
// common ancestor of its users in the tree so far.
void FlowGraph::find_dominators() {
  if (first_user_.empty()) find_users();
  size_t count = nodes_.size();
  parent_.assign(count, kNone);
  depth_.assign(count, 0);
  jump_.assign(count, 0);
  uint32_t root = static_cast<uint32_t>(count) - 1;
  jump_[root] = root;
  for (uint32_t id = root; id-- > 0;) {
    uint32_t above = kNone;
    for (uint32_t user : users(id)) above = above == kNone ? user : common(above, user);
    parent_[id] = above;
    depth_[id] = depth_[above] + 1;
    // Skew-binary jumps (Myers 1983).
    uint32_t far = jump_[above];
    bool two = depth_[above] - depth_[far] == depth_[far] - depth_[jump_[far]];
    jump_[id] = two ? jump_[far] : above;
  }
}

uint32_t FlowGraph::common(uint32_t a, uint32_t b) const {
  if (depth_[a] < depth_[b]) std::swap(a, b);
  while (depth_[a] > depth_[b]) a = depth_[jump_[a]] >= depth_[b] ? jump_[a] : parent_[a];
  while (a != b) {
    bool far = jump_[a] != jump_[b];
    a = far ? jump_[a] : parent_[a];
    b = far ? jump_[b] : parent_[b];
  }
  return a;
}

bool FlowGraph::dominates(uint32_t above, uint32_t below) {
  if (parent_.empty()) find_dominators();
  if (depth_[below] < depth_[above]) return false;
  while (depth_[below] > depth_[above])
    below = depth_[jump_[below]] >= depth_[above] ? jump_[below] : parent_[below];
  return above == below;
}

}  // namespace relay::pattern
