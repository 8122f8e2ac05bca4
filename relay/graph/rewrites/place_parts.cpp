// Operands of a concatenation are computed where they belong in its result, which then is there
// without a copy.
#include <algorithm>
#include <unordered_map>

#include <relay/graph/concatenation.h>
#include <relay/graph/rewrite.h>

namespace relay::graph {
namespace {

/// Where parts begin, kernels find the alignment that they count on (KernelArgs::buffers); the
/// machine refuses others.
constexpr int64_t kAlignment = 64;

class Placer {
 public:
  explicit Placer(Graph& graph) : graph_(graph), placeable_(graph.tensors.size(), 0) {
    for (const Node& node : graph.nodes) {
      for (size_t k = 0; k < node.outputs.size(); ++k)
        placeable_[node.outputs[k]] = is_written(node, k) ? 1 : 0;
    }
    // Results that share memory would change with each other.
    for (uint32_t output : graph.outputs) placeable_[output] = 0;
  }

  bool run() {
    bool changed = false;
    // The last first: what is joined again and again, with something new each time, lies in the
    // longest.
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      Node& node = graph_.nodes[i];
      if (node.done_by_places) continue;
      auto [known, added] = parts_.try_emplace(node.work.get());
      if (added) known->second = concatenated(node.work->computation());
      if (!known->second) continue;
      node.done_by_places = lie_in_order(node, *known->second) || place(node, *known->second);
      changed |= node.done_by_places;
    }
    return changed;
  }

 private:
  /// True if a kernel writes an output of a node: all of it, and that alone.
  static bool is_written(const Node& node, size_t output) {
    const te::Computation& computation = node.work->computation();
    const te::TensorId made = computation.outputs[output].tensor;
    if (made.is_input()) return false;
    const te::Stage& stage = computation.stages[static_cast<size_t>(made.stage)];
    if (!std::holds_alternative<te::Map>(stage.body)) return false;
    return std::count_if(computation.outputs.begin(), computation.outputs.end(),
                         [&](const te::Output& other) { return other.tensor == made; }) == 1;
  }

  bool is_aligned(const Node& node, const Part& part) const {
    const auto bytes = static_cast<int64_t>(graph_.tensors[node.outputs[0]].info.dtype.size());
    return floor_mod(node.term(part.offset) * Dim(bytes), Dim(kAlignment)).is_int(0);
  }

  /// Gives the operands of a concatenation their places. False if one cannot be placed.
  bool place(const Node& node, const std::vector<Part>& parts) {
    const uint32_t whole = node.outputs[0];
    for (size_t k = 0; k < parts.size(); ++k) {
      const uint32_t part = node.inputs[parts[k].input];
      const Tensor& tensor = graph_.tensors[part];
      if (placeable_[part] == 0 || tensor.place || !is_aligned(node, parts[k]) ||
          !(tensor.device == graph_.tensors[whole].device))
        return false;
      for (size_t other = 0; other < k; ++other) {
        if (node.inputs[parts[other].input] == part) return false;
      }
    }
    for (const Part& part : parts)
      graph_.tensors[node.inputs[part.input]].place = {whole, node.term(part.offset)};
    return true;
  }

  /// True if the operands lie as they are joined already; the result is there, too, then.
  bool lie_in_order(const Node& node, const std::vector<Part>& parts) {
    Tensor& whole = graph_.tensors[node.outputs[0]];
    if (whole.place || placeable_[node.outputs[0]] == 0) return false;
    const Tensor::Place first = place_of(graph_, node.inputs[parts[0].input]);
    for (const Part& part : parts) {
      const uint32_t input = node.inputs[part.input];
      const Tensor::Place here = place_of(graph_, input);
      if (!graph_.tensors[input].place || here.whole != first.whole ||
          !(here.offset == first.offset + node.term(part.offset)))
        return false;
    }
    whole.place = first;
    return true;
  }

  Graph& graph_;
  std::vector<char> placeable_;  // of each tensor
  std::unordered_map<const Work*, std::optional<std::vector<Part>>> parts_;
};

}  // namespace

bool place_parts(Rewriting& program) {
  bool changed = false;
  for (Graph& graph : program.graphs()) changed |= Placer(graph).run();
  return changed;
}

}  // namespace relay::graph
