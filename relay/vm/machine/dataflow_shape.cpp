// Facts of a graph that do not depend on sizes.
#include <relay/vm/machine/dataflow_plan.h>

#include <algorithm>
#include <numeric>

namespace relay::vm {

// The device that a launch reads or writes: that of the first tensor, apart from numbers. A kernel
// that reads none runs where it writes, and the other way round.
Device DataflowShape::device_of(const Graph& graph, const Launch& launch, bool written) const {
  Device device;
  bool any = false;
  for (const Launch::Argument& argument : launch.arguments) {
    const Place& place = graph.places[root[argument.place]];
    if (place.extents.empty()) continue;
    if (argument.written == written) return place.device;
    if (!any) device = place.device;
    any = true;
  }
  return device;
}

DataflowShape::DataflowShape(const Graph& graph, const Executable& executable) {
  size_t num_places = graph.places.size();
  root.assign(num_places, kNone);
  for (uint32_t place = 0; place < num_places; ++place) {
    uint32_t at = place;
    while (graph.places[at].alias != kNone && root[at] == kNone) at = graph.places[at].alias;
    uint32_t found = root[at] == kNone ? at : root[at];
    for (at = place; at != found && root[at] == kNone; at = graph.places[at].alias) {
      root[at] = found;
    }
    root[found] = found;
  }
  home.assign(num_places, Home::kArena);
  for (uint32_t place : graph.outputs) home[root[place]] = Home::kResult;
  counted.assign(num_places, 0);
  for (uint32_t place = 0; place < num_places; ++place) {
    const std::vector<uint32_t>& extents = graph.places[place].extents;
    if (std::find(extents.begin(), extents.end(), kNone) == extents.end()) continue;
    counted[place] = 1;
    home[place] = Home::kResult;
  }
  for (uint32_t place = 0; place < num_places; ++place) {
    if (root[place] != place) continue;
    if (place < graph.num_inputs) {
      home[place] = Home::kInput;
    } else if (graph.places[place].constant != kNone) {
      home[place] = Home::kConstant;
    } else if (graph.places[place].extents.empty()) {
      home[place] = Home::kCell;
    }
  }
  find_uses(graph);
  find_predecessors(graph);
  find_early_places(graph);
  arena.assign(num_places, 0);
  for (uint32_t place = 0; place < num_places; ++place) {
    if (root[place] != place || home[place] != Home::kArena) continue;
    Device device = graph.places[place].device;
    auto found = std::find(arenas.begin(), arenas.end(), device);
    arena[place] = static_cast<uint32_t>(found - arenas.begin());
    if (found == arenas.end()) arenas.push_back(device);
  }
  for (uint32_t i = 0; i < graph.launches.size(); ++i) {
    const Launch& launch = graph.launches[i];
    first_buffer.push_back(static_cast<uint32_t>(num_buffers));
    first_dim.push_back(static_cast<uint32_t>(num_dims));
    num_buffers += launch.arguments.size();
    num_dims += launch.dims.size();
    bool library = !executable.kernels[launch.kernel].library.empty();
    Device read = device_of(graph, launch, false);
    Device written = device_of(graph, launch, true);
    if (sections.empty() || library || sections.back().library ||
        !(sections.back().device == read)) {
      sections.push_back({i, i + 1, library, read, written});
    } else {
      sections.back().end = i + 1;
    }
  }
  find_what_moves(graph);
  for (uint32_t slot = 0; slot < graph.dims.size(); ++slot) {
    if (is_leaf(graph.dims[slot].code)) leaves.push_back(slot);
  }
}

void DataflowShape::find_what_moves(const Graph& graph) {
  for (uint32_t place = graph.num_inputs; place < graph.places.size(); ++place) {
    if (counted[place] != 0) {
      counted_roots.push_back(place);
    } else if (root[place] == place && home[place] == Home::kResult) {
      results.push_back(place);
    } else if (root[place] == place && home[place] == Home::kArena) {
      temporaries.push_back(place);
    }
  }
  uint32_t number = 0;
  for (const Launch& launch : graph.launches) {
    for (const Launch::Argument& argument : launch.arguments) {
      const Home where = home[root[argument.place]];
      const bool moves = where == Home::kInput || where == Home::kResult;
      (moves ? moving : resting).push_back({number++, argument.place});
    }
  }
  std::vector<uint32_t> wanted(graph.places.size(), 0);  // outputs that lie in a root
  for (uint32_t output : graph.outputs) ++wanted[root[output]];
  for (uint32_t output : graph.outputs) {
    const bool alone = root[output] == output && wanted[output] == 1;
    whole.push_back(alone && home[output] == Home::kResult && counted[output] == 0 ? 1 : 0);
  }
}

void DataflowShape::find_uses(const Graph& graph) {
  first_use.assign(graph.places.size(), kNone);
  last_use.assign(graph.places.size(), 0);
  for (uint32_t i = 0; i < graph.launches.size(); ++i) {
    for (const Launch::Argument& argument : graph.launches[i].arguments) {
      uint32_t at = root[argument.place];
      if (first_use[at] == kNone) first_use[at] = i;
      last_use[at] = i;
    }
  }
}

// Results that a launch writes first, over inputs that it reads last and nobody else returns.
void DataflowShape::find_predecessors(const Graph& graph) {
  predecessors.assign(graph.places.size(), {});
  family.resize(graph.places.size());
  std::iota(family.begin(), family.end(), 0u);
  std::vector<char> returned(graph.num_inputs, 0);
  for (uint32_t place : graph.outputs) {
    if (home[root[place]] == Home::kInput) returned[root[place]] = 1;
  }
  for (uint32_t i = 0; i < graph.launches.size(); ++i) {
    const Launch& launch = graph.launches[i];
    for (const Launch::InPlace& pair : launch.in_place) {
      const uint32_t to = launch.arguments[pair.written].place;
      const uint32_t from = launch.arguments[pair.read].place;
      if (root[to] != to || root[from] != from) continue;
      if (home[to] != Home::kResult || home[from] != Home::kInput || counted[to] != 0) continue;
      if (first_use[to] != i || last_use[from] != i || returned[from] != 0) continue;
      if (read_twice(launch, from)) continue;
      const Place &result = graph.places[to], &input = graph.places[from];
      if (result.dtype != input.dtype || !(result.device == input.device)) continue;
      if (result.extents.empty() || input.extents.empty()) continue;
      predecessors[to].push_back(from);
      join_families(launch, to, from);
    }
  }
}

// Only arguments of this launch can be in a family with the two: an input is read by it last, a
// result is written by it first.
void DataflowShape::join_families(const Launch& launch, uint32_t a, uint32_t b) {
  const uint32_t first = std::min(family[a], family[b]), other = std::max(family[a], family[b]);
  if (first == other) return;
  for (const Launch::Argument& argument : launch.arguments) {
    uint32_t& at = family[root[argument.place]];
    if (at == other) at = first;
  }
}

// A temporary that a result replaces in place lies in the result's memory, which is there for the
// whole run. So it needs none in the arena, and nothing is copied. Later launches come first, since
// the temporary may be in the place of another one.
void DataflowShape::find_early_places(const Graph& graph) {
  std::vector<uint32_t> moved(graph.places.size(), kNone);
  std::vector<char> filled(graph.places.size(), 0);  // by what lay there before
  for (uint32_t i = static_cast<uint32_t>(graph.launches.size()); i-- > 0;) {
    const Launch& launch = graph.launches[i];
    for (const Launch::InPlace& pair : launch.in_place) {
      const uint32_t to = launch.arguments[pair.written].place;
      const uint32_t from = launch.arguments[pair.read].place;
      if (root[to] != to || root[from] != from || to == from || filled[to] != 0) continue;
      const uint32_t result = moved[to] == kNone ? to : moved[to];
      if (home[result] != Home::kResult || home[from] != Home::kArena) continue;
      if (counted[result] != 0 || !predecessors[result].empty()) continue;
      if (first_use[to] != i || last_use[from] != i || moved[from] != kNone) continue;
      if (read_twice(launch, from)) continue;
      const Place &after = graph.places[to], &before = graph.places[from];
      if (after.dtype != before.dtype || after.extents != before.extents) continue;
      if (!(after.device == before.device)) continue;
      moved[from] = result;
      filled[to] = 1;
    }
  }
  for (uint32_t& at : root) {
    if (moved[at] != kNone) at = moved[at];
  }
  find_uses(graph);
}

// Under several names: the elements might be written before another of them is read.
bool DataflowShape::read_twice(const Launch& launch, uint32_t of) const {
  auto readers =
      std::count_if(launch.arguments.begin(), launch.arguments.end(),
                    [&](const Launch::Argument& argument) { return root[argument.place] == of; });
  return readers != 1;
}

}  // namespace relay::vm
