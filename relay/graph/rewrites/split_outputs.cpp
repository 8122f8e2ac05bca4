// Results of a work that have nothing in common become works of their own, if they are computed
// over different points or one of them is added up: kernels would be different ones anyway, and
// each may now be joined with others. The two gradients of a product are such.
#include <algorithm>
#include <map>
#include <set>

#include <relay/graph/rewrite.h>
#include <relay/graph/unread.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {
namespace {

/// A part of a work: some of its outputs, with inputs by their old numbers.
struct SplitPart {
  WorkRef work;
  std::vector<size_t> inputs, outputs;
};

/// The stages that an output depends on, and whether one of them adds up.
struct OutputNeeds {
  std::set<int32_t> stages;
  bool folds = false;
};

OutputNeeds needs_of(const te::Computation& computation, const te::Output& output) {
  OutputNeeds needs;
  std::vector<te::TensorId> waiting{output.tensor};
  while (!waiting.empty()) {
    const te::TensorId at = waiting.back();
    waiting.pop_back();
    if (at.is_input() || !needs.stages.insert(at.stage).second) continue;
    const te::Stage& stage = computation.stages[static_cast<size_t>(at.stage)];
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage)))
      needs.folds = needs.folds || node->kind == te::ScalarKind::kFold;
    for (te::TensorId read : te::stage_reads(stage)) waiting.push_back(read);
  }
  return needs;
}

/// True if the kernels of two outputs are one: they share stages, or go through the same points.
bool belong_together(const te::Output& a, const OutputNeeds& of_a, const te::Output& b,
                     const OutputNeeds& of_b) {
  if (std::any_of(of_a.stages.begin(), of_a.stages.end(),
                  [&](int32_t stage) { return of_b.stages.contains(stage); }))
    return true;
  return a.dims == b.dims && of_a.folds == of_b.folds;
}

/// The outputs of a work by the part that they belong to.
std::vector<std::vector<size_t>> outputs_apart(const te::Computation& computation) {
  std::vector<OutputNeeds> needs;
  for (const te::Output& output : computation.outputs)
    needs.push_back(needs_of(computation, output));
  std::vector<std::vector<size_t>> parts;
  for (size_t i = 0; i < needs.size(); ++i) {
    std::vector<size_t> mine{i};
    std::erase_if(parts, [&](const std::vector<size_t>& part) {
      const bool joins = std::any_of(part.begin(), part.end(), [&](size_t k) {
        return belong_together(computation.outputs[k], needs[k], computation.outputs[i], needs[i]);
      });
      if (joins) mine.insert(mine.end(), part.begin(), part.end());
      return joins;
    });
    std::sort(mine.begin(), mine.end());
    parts.push_back(std::move(mine));
  }
  return parts;
}

std::vector<SplitPart> parts_of(const WorkRef& old) {
  const te::Computation& whole = old->computation();
  const bool plain =
      std::all_of(whole.stages.begin(), whole.stages.end(), [](const te::Stage& stage) {
        return std::holds_alternative<te::Map>(stage.body) ||
               std::holds_alternative<te::View>(stage.body);
      });
  if (old->prepared || !old->elements.empty() || whole.outputs.size() < 2 || !plain) return {};
  const std::vector<std::vector<size_t>> groups = outputs_apart(whole);
  std::vector<SplitPart> parts;
  if (groups.size() < 2) return parts;
  for (const std::vector<size_t>& outputs : groups) {
    auto work = std::make_shared<Work>(*old);
    te::Computation& computation = work->group.computation;
    std::vector<te::Output> mine;
    for (size_t k : outputs) mine.push_back(whole.outputs[k]);
    computation.outputs = std::move(mine);
    SplitPart& part = parts.emplace_back();
    part.inputs = drop_unread(computation, std::vector<bool>(computation.inputs.size()));
    part.outputs = outputs;
    part.work = std::move(work);
  }
  return parts;
}

}  // namespace

bool split_outputs(Rewriting& program) {
  if (!program.options().runs_in_blocks) return false;
  std::map<WorkRef, std::vector<SplitPart>> known;
  bool changed = false;
  for (Graph& graph : program.graphs()) {
    std::vector<Node> nodes;
    for (Node& node : graph.nodes) {
      auto [entry, added] = known.try_emplace(node.work);
      if (added) entry->second = parts_of(node.work);
      if (entry->second.empty()) nodes.push_back(node);
      for (const SplitPart& part : entry->second) {
        Node& made = nodes.emplace_back(node);
        made.work = part.work;
        made.inputs.clear();
        made.outputs.clear();
        for (size_t k : part.inputs) made.inputs.push_back(node.inputs[k]);
        for (size_t k : part.outputs) made.outputs.push_back(node.outputs[k]);
      }
    }
    changed = changed || nodes.size() != graph.nodes.size();
    graph.nodes = std::move(nodes);
  }
  return changed;
}

}  // namespace relay::graph
