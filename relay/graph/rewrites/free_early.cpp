// Work that ends the life of a large tensor runs as soon as it can. A step of training lists its
// gradients first and then what is done with them; in that order all of them are in memory at once,
// and each has left the caches when its weight is updated.
#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include <relay/graph/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {
namespace {

/// Bytes that a move has to free: less stays in a cache anyway, and each move may cost a wait of
/// the workers for one another.
constexpr int64_t kWorthMoving = int64_t{1} << 20;

constexpr uint32_t kNobody = UINT32_MAX;

/// Bytes of a tensor that counts for nothing, such as a step's rate of learning.
constexpr int64_t kTiny = int64_t{1} << 12;

/// True if no order of errors depends on when a work runs.
bool is_free_to_move(const Work& work) {
  const std::vector<te::Stage>& stages = work.computation().stages;
  return work.group.checks.empty() &&
         std::none_of(stages.begin(), stages.end(),
                      [](const te::Stage& stage) { return te::can_fail(stage); });
}

/// What is known of works, which nodes of all graphs share.
using Movable = std::unordered_map<const Work*, bool>;

class EarlyOrder {
 public:
  EarlyOrder(const Graph& graph, Movable& movable)
      : graph_(graph),
        movable_(movable),
        pending_(graph.nodes.size(), 0),
        done_(graph.nodes.size(), 0),
        inputs_(graph.nodes.size()),
        returned_(graph.tensors.size(), 0),
        readers_(graph.tensors.size()),
        unread_(graph.tensors.size(), 0),
        tiny_maker_(graph.tensors.size(), kNobody) {
    for (uint32_t output : graph.outputs) returned_[output] = 1;
    for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
      std::vector<uint32_t>& inputs = inputs_[n];
      inputs = graph.nodes[n].inputs;
      std::sort(inputs.begin(), inputs.end());
      inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
      for (uint32_t input : inputs) {
        readers_[input].push_back(n);
        ++unread_[input];
        if (graph.is(input, Tensor::Kind::kComputed) && tiny_maker_[input] == kNobody)
          ++pending_[n];
      }
      if (!is_tiny(n)) continue;
      for (uint32_t output : graph.nodes[n].outputs) tiny_maker_[output] = n;
    }
  }

  /// The nodes in their new order.
  std::vector<uint32_t> run() {
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (done_[n] != 0) continue;
      add(n);
      // What one node makes ready may make others so; the first in the old order goes first.
      while (!ready_.empty()) {
        const uint32_t node = ready_.top();
        ready_.pop();
        if (done_[node] == 0 && pays(node)) add(node);
      }
    }
    return std::move(order_);
  }

 private:
  /// Tiny work that it reads goes first.
  void add(uint32_t n) {
    std::vector<uint32_t> stack{n};
    while (!stack.empty()) {
      const uint32_t top = stack.back();
      const size_t before = stack.size();
      for (uint32_t input : inputs_[top]) {
        const uint32_t maker = tiny_maker_[input];
        if (maker != kNobody && done_[maker] == 0) stack.push_back(maker);
      }
      if (stack.size() != before) continue;
      stack.pop_back();
      if (done_[top] == 0) add_ready(top);
    }
  }

  void add_ready(uint32_t n) {
    done_[n] = 1;
    order_.push_back(n);
    for (uint32_t output : graph_.nodes[n].outputs) {
      if (tiny_maker_[output] != kNobody) continue;
      for (uint32_t reader : readers_[output]) {
        if (--pending_[reader] == 0) ready_.push(reader);
      }
    }
    for (uint32_t input : inputs_[n]) {
      if (--unread_[input] != 1) continue;
      for (uint32_t reader : readers_[input]) {
        if (done_[reader] == 0 && pending_[reader] == 0) ready_.push(reader);
      }
    }
  }

  bool pays(uint32_t n) const {
    const Node& node = graph_.nodes[n];
    if (node.done_by_places) return false;
    int64_t freed = 0;
    for (uint32_t output : node.outputs) {
      const std::optional<int64_t> bytes = bytes_of(output);
      if (!bytes || graph_.tensors[output].place) return false;
      // Results have their memory from the beginning.
      if (returned_[output] == 0) freed -= *bytes;
    }
    for (uint32_t input : inputs_[n]) {
      if (graph_.tensors[input].place) return false;
      if (graph_.is(input, Tensor::Kind::kConstant)) continue;
      const int64_t bytes = bytes_of(input).value_or(0);
      // An argument that is read later cannot be written over here.
      if (unread_[input] != 1 && bytes >= kWorthMoving) return false;
      if (unread_[input] == 1 && returned_[input] == 0 && graph_.is(input, Tensor::Kind::kComputed))
        freed += bytes;
    }
    return freed >= kWorthMoving && may_move(*node.work);
  }

  /// True for work on tiny tensors that depends on nothing larger.
  bool is_tiny(uint32_t n) const {
    auto tiny = [&](uint32_t tensor) {
      const std::optional<int64_t> bytes = bytes_of(tensor);
      return bytes && *bytes <= kTiny && !graph_.tensors[tensor].place;
    };
    const Node& node = graph_.nodes[n];
    for (uint32_t output : node.outputs)
      if (!tiny(output)) return false;
    for (uint32_t input : inputs_[n]) {
      if (!tiny(input)) return false;
      if (graph_.is(input, Tensor::Kind::kComputed) && tiny_maker_[input] == kNobody) return false;
    }
    return may_move(*node.work);
  }

  bool may_move(const Work& work) const {
    auto [entry, added] = movable_.try_emplace(&work, false);
    if (added) entry->second = is_free_to_move(work);
    return entry->second;
  }

  /// Nothing for extents that are not known.
  std::optional<int64_t> bytes_of(uint32_t tensor) const {
    const te::TensorInfo& info = graph_.tensors[tensor].info;
    const Dim bytes = product(info.dims) * Dim(static_cast<int64_t>(info.dtype.size()));
    return bytes.is_int() ? std::optional(bytes.as_int()) : std::nullopt;
  }

  const Graph& graph_;
  Movable& movable_;

  std::vector<uint32_t> pending_;  // of each node: inputs that are not computed yet, but tiny ones
  std::vector<char> done_;
  std::vector<std::vector<uint32_t>> inputs_;   // of each node: tensors, each once
  std::vector<char> returned_;                  // of each tensor
  std::vector<std::vector<uint32_t>> readers_;  // nodes, each once
  std::vector<uint32_t> unread_;                // of them, those that are not done
  std::vector<uint32_t> tiny_maker_;            // of each tensor: tiny work that makes it
  std::vector<uint32_t> order_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready_;  // perhaps
};

}  // namespace

bool free_early(Rewriting& program) {
  bool changed = false;
  Movable movable;
  for (Graph& graph : program.graphs()) {
    const std::vector<uint32_t> order = EarlyOrder(graph, movable).run();
    if (std::is_sorted(order.begin(), order.end())) continue;
    std::vector<Node> nodes;
    nodes.reserve(order.size());
    for (uint32_t n : order) nodes.push_back(std::move(graph.nodes[n]));
    graph.nodes = std::move(nodes);
    changed = true;
  }
  return changed;
}

}  // namespace relay::graph
