// Works do not compute what nothing reads: of an operator with several results, such as a
// derivative, often one alone is used. Nor do they take tensors that they do not read: a group
// takes a tuple whole, and what computes a field may have no other reader.
#include <algorithm>
#include <map>

#include <relay/graph/rewrite.h>
#include <relay/graph/unread.h>

namespace relay::graph {
namespace {

struct Trimmed {
  WorkRef work;
  std::vector<size_t> kept;  // inputs, by their old numbers
};

/// True if a work can do without some of its outputs: a library kernel has all of them, or none.
bool can_trim(const te::Computation& computation) {
  return std::none_of(
      computation.stages.begin(), computation.stages.end(),
      [](const te::Stage& stage) { return std::holds_alternative<te::Library>(stage.body); });
}

Trimmed trim(const Work& old, const std::vector<bool>& needed) {
  auto work = std::make_shared<Work>(old);
  te::Computation& computation = work->group.computation;
  std::vector<te::Output> outputs;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) outputs.push_back(computation.outputs[i]);
  }
  computation.outputs = std::move(outputs);
  std::vector<bool> wanted(computation.inputs.size(), false);
  for (const Work::Element& element : work->elements) wanted[element.input] = true;
  Trimmed trimmed;
  trimmed.kept = drop_unread(computation, wanted);
  renumber_elements(*work, trimmed.kept);
  trimmed.work = std::move(work);
  return trimmed;
}

class Trimmer {
 public:
  bool run(Graph& graph) {
    bool changed = false;
    std::vector<bool> read(graph.tensors.size(), false);
    for (uint32_t output : graph.outputs) read[output] = true;
    for (const Symbol& symbol : graph.symbols) read[symbol.tensor] = true;
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      Node& node = graph.nodes[i];
      changed = trim_node(node, read) || changed;
      for (uint32_t input : node.inputs) read[input] = true;
    }
    return changed;
  }

 private:
  // A node without any reader stays: it may be there for its effect.
  bool trim_node(Node& node, const std::vector<bool>& read) {
    std::vector<bool> needed;
    for (uint32_t output : node.outputs) needed.push_back(read[output]);
    const auto count = std::count(needed.begin(), needed.end(), true);
    if (count == 0 || !can_trim(node.work->computation())) return false;
    // Nodes that did equal work still share it.
    auto [entry, added] = trimmed_.try_emplace({node.work, needed});
    if (added) entry->second = trim(*node.work, needed);
    const Trimmed& trimmed = entry->second;
    const bool all = count == static_cast<std::ptrdiff_t>(needed.size());
    if (all && trimmed.kept.size() == node.inputs.size()) return false;
    std::vector<uint32_t> inputs, outputs;
    for (size_t input : trimmed.kept) inputs.push_back(node.inputs[input]);
    for (size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) outputs.push_back(node.outputs[i]);
    }
    node.work = trimmed.work;
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    return true;
  }

  std::map<std::pair<WorkRef, std::vector<bool>>, Trimmed> trimmed_;
};

}  // namespace

bool drop_outputs(Rewriting& program) {
  Trimmer trimmer;
  bool changed = false;
  for (Graph& graph : program.graphs()) changed = trimmer.run(graph) || changed;
  return changed;
}

}  // namespace relay::graph
