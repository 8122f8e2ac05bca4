#include <relay/graph/units.h>

#include <algorithm>

namespace relay::graph {
namespace {

/// Units that a search for a way between two may look at.
constexpr size_t kMostSeen = 4096;

}  // namespace

Units::Units(Graph& graph) : graph_(graph) {
  const size_t count = graph.nodes.size();
  producer_.assign(graph.tensors.size(), kNone);
  readers_.resize(graph.tensors.size());
  is_result_.assign(graph.tensors.size(), false);
  for (size_t i = 0; i < count; ++i) {
    for (uint32_t output : graph.nodes[i].outputs) producer_[output] = i;
    for (uint32_t input : graph.nodes[i].inputs) readers_[input].push_back(i);
    units_.push_back({i});
    unit_of_.push_back(i);
  }
  for (uint32_t output : graph.outputs) is_result_[output] = true;
  seen_.assign(count, 0);
}

bool Units::is_placed(size_t node) const {
  const Node& at = graph_.nodes[node];
  return at.done_by_places ||
         std::any_of(at.outputs.begin(), at.outputs.end(),
                     [&](uint32_t output) { return graph_.tensors[output].place.has_value(); });
}

bool Units::leads_to(size_t from, size_t to) {
  ++walk_;
  size_t steps = 0;
  std::vector<size_t> stack;
  auto visit = [&](size_t unit) {
    for (size_t node : units_[unit]) {
      for (uint32_t input : graph_.nodes[node].inputs) {
        if (producer_[input] == kNone) continue;
        const size_t before = unit_of_[producer_[input]];
        if (before == unit || (unit == to && before == from)) continue;
        if (before == from) return true;
        if (seen_[before] == walk_) continue;
        seen_[before] = walk_;
        stack.push_back(before);
      }
    }
    return false;
  };
  if (visit(to)) return true;
  while (!stack.empty()) {
    const size_t unit = stack.back();
    stack.pop_back();
    if (++steps > kMostSeen || visit(unit)) return true;
  }
  return false;
}

std::vector<uint32_t> Units::tensors(std::span<const size_t> units) const {
  std::vector<uint32_t> found;
  for (size_t unit : units) {
    for (size_t node : units_[unit]) {
      const Node& at = graph_.nodes[node];
      found.insert(found.end(), at.inputs.begin(), at.inputs.end());
      found.insert(found.end(), at.outputs.begin(), at.outputs.end());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<uint32_t> Units::results(std::span<const size_t> units) const {
  auto is_outside = [&](size_t node) {
    return std::find(units.begin(), units.end(), unit_of_[node]) == units.end();
  };
  std::vector<uint32_t> found;
  for (size_t unit : units) {
    for (size_t node : units_[unit]) {
      for (uint32_t output : graph_.nodes[node].outputs) {
        if (is_result_[output] ||
            std::any_of(readers_[output].begin(), readers_[output].end(), is_outside))
          found.push_back(output);
      }
    }
  }
  return found;
}

void Units::join(size_t a, size_t b) {
  for (size_t each : units_[b]) unit_of_[each] = a;
  units_[a].insert(units_[a].end(), units_[b].begin(), units_[b].end());
  std::sort(units_[a].begin(), units_[a].end());
  units_[b].clear();
}

bool Units::write(NodeJoiner& joiner) {
  if (std::none_of(units_.begin(), units_.end(), [](const auto& unit) { return unit.size() > 1; }))
    return false;
  std::vector<Node> nodes;
  std::vector<bool> written(units_.size());
  // Each unit stands where its last node stood, or where another one wants it before.
  for (size_t i = 0; i < graph_.nodes.size(); ++i)
    if (units_[unit_of_[i]].back() == i) write_unit(unit_of_[i], joiner, written, nodes);
  graph_.nodes = std::move(nodes);
  drop_nodes(graph_, std::vector<bool>(graph_.nodes.size()));
  return true;
}

void Units::write_unit(size_t first, NodeJoiner& joiner, std::vector<bool>& written,
                       std::vector<Node>& nodes) {
  std::vector<std::pair<size_t, bool>> stack{{first, false}};
  while (!stack.empty()) {
    const auto [unit, ready] = stack.back();
    stack.pop_back();
    if (written[unit]) continue;
    if (ready) {
      written[unit] = true;
      write_nodes(unit, joiner, nodes);
      continue;
    }
    stack.emplace_back(unit, true);
    for (size_t node : units_[unit]) {
      for (uint32_t input : graph_.nodes[node].inputs) {
        if (producer_[input] == kNone) continue;
        const size_t before = unit_of_[producer_[input]];
        if (before != unit && !written[before]) stack.emplace_back(before, false);
      }
    }
  }
}

void Units::write_nodes(size_t unit, NodeJoiner& joiner, std::vector<Node>& nodes) {
  if (units_[unit].size() > 1) {
    if (std::optional<Node> node = joiner.join(graph_, units_[unit], results({&unit, 1}))) {
      nodes.push_back(std::move(*node));
      return;
    }
  }
  for (size_t node : units_[unit]) nodes.push_back(graph_.nodes[node]);
}

}  // namespace relay::graph
