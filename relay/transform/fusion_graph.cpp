// Groups by post-dominators: a node joins the node that all ways from it lead to.
#include <algorithm>

#include <relay/transform/fusion.h>

namespace relay {

FusionGraph::Kind FusionGraph::kind_of(te::FusionKind kind) {
  switch (kind) {
    case te::FusionKind::kElementwise:
      return Kind::kElementwise;
    case te::FusionKind::kBroadcast:
      return Kind::kBroadcast;
    case te::FusionKind::kInjective:
      return Kind::kInjective;
    case te::FusionKind::kReduction:
      return Kind::kReduction;
    case te::FusionKind::kOutElementwise:
    case te::FusionKind::kRowProgram:  // one kernel, whose result may be worked on further
      return Kind::kOutElementwise;
    case te::FusionKind::kOpaque:
      break;
  }
  return Kind::kOpaque;
}

uint32_t FusionGraph::add(Kind kind, bool passes_reshapes) {
  Node& node = nodes_.emplace_back();
  node.kind = kind;
  node.passes_reshapes = passes_reshapes;
  return static_cast<uint32_t>(nodes_.size() - 1);
}

void FusionGraph::use(uint32_t node, uint32_t user, Kind kind) {
  nodes_[node].users.push_back({user, kind});
}

// Users come after the nodes they use, so going backwards every user is done.
void FusionGraph::find_post_dominators() {
  constexpr uint32_t kMaxSteps = 4096;  // on the way to a common post-dominator, for each node
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (node.outside || node.users.empty()) continue;
    uint32_t parent = node.users[0].node;
    Kind path = node.users[0].kind;
    uint32_t steps = 0;
    for (size_t u = 1; u < node.users.size() && parent != kNone; ++u) {
      uint32_t other = node.users[u].node;
      path = std::max(path, node.users[u].kind);
      while (parent != other && parent != kNone && other != kNone && ++steps < kMaxSteps) {
        uint32_t& deeper = nodes_[parent].depth >= nodes_[other].depth ? parent : other;
        path = std::max(path, nodes_[deeper].path);
        deeper = nodes_[deeper].parent;
      }
      if (parent != other) parent = kNone;
    }
    if (parent == kNone) continue;
    node.parent = parent;
    node.path = path;
    node.depth = nodes_[parent].depth + 1;
  }
}

uint32_t FusionGraph::root(uint32_t node) {
  while (groups_[node].parent != node) {
    groups_[node].parent = groups_[groups_[node].parent].parent;
    node = groups_[node].parent;
  }
  return node;
}

// True if the groups of all nodes after `from` and up to `to` are allowed.
template <class Allowed>
bool FusionGraph::all_on_path(uint32_t from, uint32_t to, Allowed allowed) {
  ++walk_;
  stack_.assign(1, from);
  while (!stack_.empty()) {
    uint32_t at = stack_.back();
    stack_.pop_back();
    for (const Edge& edge : nodes_[at].users) {
      if (mark_[edge.node] == walk_) continue;
      mark_[edge.node] = walk_;
      bool last = edge.node == to;
      if (!allowed(groups_[root(edge.node)].kind, last)) return false;
      if (!last) stack_.push_back(edge.node);
    }
  }
  return true;
}

// True if the groups on the ways to `parent`, joined, are within the limit.
bool FusionGraph::small_enough(uint32_t node, uint32_t parent, size_t max_size) {
  uint32_t target = root(parent);
  size_t size = groups_[target].size;
  ++walk_;
  group_mark_[target] = walk_;
  stack_.assign(1, node);
  mark_[node] = walk_;
  while (!stack_.empty() && size <= max_size) {
    uint32_t at = stack_.back();
    stack_.pop_back();
    uint32_t group = root(at);
    if (group_mark_[group] != walk_) {
      group_mark_[group] = walk_;
      size += groups_[group].size;
    }
    for (const Edge& edge : nodes_[at].users) {
      if (edge.node == parent || mark_[edge.node] == walk_) continue;
      mark_[edge.node] = walk_;
      stack_.push_back(edge.node);
    }
  }
  return size <= max_size;
}

void FusionGraph::merge_path(uint32_t from, uint32_t to) {
  uint32_t target = root(to);
  ++walk_;
  stack_.assign(1, from);
  mark_[from] = walk_;
  while (!stack_.empty()) {
    uint32_t at = stack_.back();
    stack_.pop_back();
    uint32_t group = root(at);
    if (group != target) {
      groups_[group].parent = target;
      groups_[target].size += groups_[group].size;
      groups_[target].passes_reshapes |= groups_[group].passes_reshapes;
      // A group folds at most once; else it is what its last node is.
      if (groups_[group].kind == Kind::kReduction || groups_[group].kind == Kind::kOutElementwise)
        groups_[target].kind = std::max(groups_[target].kind, groups_[group].kind);
    }
    for (const Edge& edge : nodes_[at].users) {
      if (edge.node == to || mark_[edge.node] == walk_) continue;
      mark_[edge.node] = walk_;
      stack_.push_back(edge.node);
    }
  }
}

void FusionGraph::try_fuse(uint32_t id, int phase, size_t max_size) {
  const Node& node = nodes_[id];
  uint32_t parent = node.parent;
  if (node.kind == Kind::kOpaque || parent == kNone) return;
  Kind kind = groups_[id].kind;  // of this node and what joined it
  auto fuse = [&](auto allowed) {
    if (small_enough(id, parent, max_size) && all_on_path(id, parent, allowed))
      merge_path(id, parent);
  };
  auto injective = [this](Kind at, bool last) {
    return at <= Kind::kInjective || (around_folds_ && last && at == Kind::kReduction);
  };
  if (phase == 2) {
    // Producers of tuples that have become part of an injective group.
    if (kind > Kind::kInjective || nodes_[parent].kind != Kind::kTuple) return;
    fuse(injective);
    return;
  }
  if (root(id) == root(parent) || nodes_[parent].kind == Kind::kTuple) return;
  switch (kind) {
    case Kind::kOutElementwise:
    case Kind::kReduction:
      if (kind == Kind::kReduction && !around_folds_) return;
      // Elementwise work on the result, of the same shape or of the same elements in another one.
      if (phase == 0 && (node.path == Kind::kElementwise ||
                         (node.path == Kind::kReshape && groups_[id].passes_reshapes)))
        fuse([](Kind at, bool) { return at <= Kind::kBroadcast; });
      return;
    case Kind::kElementwise:
    case Kind::kBroadcast:
      if (node.path <= Kind::kReduction) {
        fuse([](Kind at, bool last) {
          return at <= Kind::kInjective ||
                 (last && (at == Kind::kReduction || at == Kind::kOutElementwise));
        });
      }
      return;
    case Kind::kReshape:
    case Kind::kInjective:
    case Kind::kTuple:
      // After contractions have taken their followers.
      if (phase == 1 && node.path <= Kind::kReduction) fuse(injective);
      return;
    case Kind::kOpaque:
      return;
  }
}

std::vector<uint32_t> FusionGraph::partition(size_t max_size) {
  find_post_dominators();
  groups_.clear();
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    groups_.push_back({i, nodes_[i].kind, nodes_[i].passes_reshapes});
  }
  mark_.assign(nodes_.size(), 0);
  group_mark_.assign(nodes_.size(), 0);
  if (max_size > 1) {
    for (int phase = 0; phase < 3; ++phase) {
      for (uint32_t i = 0; i < nodes_.size(); ++i) try_fuse(i, phase, max_size);
    }
  }
  std::vector<uint32_t> result(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); ++i) result[i] = root(i);
  return result;
}

}  // namespace relay
