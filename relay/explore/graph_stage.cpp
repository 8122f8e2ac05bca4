// Stages of graphs: of computations, and of launches of kernels.
#include <unordered_map>

#include <relay/explore/stage.h>

namespace relay::explore {
namespace {

// A tensor expression's name of a type, as modules have it, so that sizes are read in one way.
template <class Dims, class Text>
std::string tensor_text(DType dtype, const Dims& dims, const Text& text) {
  std::string out = "Tensor[(";
  bool first = true;
  for (const auto& dim : dims) {
    if (!first) out += ", ";
    first = false;
    out += text(dim);
  }
  return out + "), " + std::string(dtype.name()) + "]";
}

std::string type_of(const te::TensorInfo& info) {
  return tensor_text(info.dtype, info.dims, [](Dim dim) { return dim.str(); });
}

// The lines of a text by what they begin with, up to `end`.
std::unordered_map<std::string, int32_t> lines_by_head(std::string_view text, char end) {
  std::unordered_map<std::string, int32_t> lines;
  for (int32_t line = 0; !text.empty(); ++line) {
    const size_t length = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, length);
    if (size_t at = whole.find(end); at != std::string_view::npos)
      lines.try_emplace(std::string(whole.substr(0, at)), line);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

class GraphStage {
 public:
  GraphStage(const graph::Graph& graph, StageText& stage, Tables& tables)
      : graph_(graph), stage_(stage), tables_(tables), text_(to_string(graph)) {}

  void run() {
    // Heads are "%3" of the first result: "%3: float32[2] = …".
    heads_ = lines_by_head(text_, ':');
    scope_ = static_cast<int32_t>(stage_.scopes.size());
    stage_.scopes.emplace_back();
    first_line_ = static_cast<int32_t>(stage_.lines.size());
    made_by_.assign(graph_.tensors.size(), -1);
    for (uint32_t input : graph_.inputs) leaf(input, "Var", "%" + std::to_string(input));
    for (const graph::Node& node : graph_.nodes) one(node);
    std::vector<int32_t> lines = tables_.lines(text_);
    stage_.lines.insert(stage_.lines.end(), lines.begin(), lines.end());
    stage_.lines.push_back(tables_.text(""));
  }

 private:
  void line_of(uint32_t tensor) {
    auto found = heads_.find("%" + std::to_string(tensor));
    if (found == heads_.end()) return;
    stage_.nodes.line.back() = first_line_ + found->second;
    stage_.nodes.column.back() = 0;
  }

  int32_t leaf(uint32_t tensor, const char* kind, const std::string& label) {
    const int32_t number = stage_.nodes.add(tables_.text(kind), tables_.text(label));
    stage_.nodes.type.back() = tables_.text(type_of(graph_.tensors[tensor].info));
    stage_.nodes.scope.back() = scope_;
    line_of(tensor);
    made_by_[tensor] = number;
    return number;
  }

  void one(const graph::Node& node) {
    for (uint32_t input : node.inputs) {
      if (made_by_[input] < 0 && graph_.is(input, graph::Tensor::Kind::kConstant)) {
        const bool prepared = graph_.tensors[input].constant->computation() != nullptr;
        leaf(input, "Constant", prepared ? "prepared" : "constant");
      }
    }
    Nodes& nodes = stage_.nodes;
    const int32_t number = nodes.add(tables_.text("Call"), tables_.text(node.work->name));
    nodes.attrs.back() = tables_.text(node.work->source);
    nodes.scope.back() = scope_;
    nodes.place.back() = static_cast<int32_t>(node.position);
    for (uint32_t origin : node.origins)
      nodes.origins.back().push_back(static_cast<int32_t>(origin));
    for (uint32_t input : node.inputs) {
      if (made_by_[input] >= 0) nodes.operands.back().push_back(made_by_[input]);
    }
    for (uint32_t output : node.outputs) made_by_[output] = number;
    if (node.outputs.empty()) return;
    nodes.type.back() = tables_.text(type_of(graph_.tensors[node.outputs.front()].info));
    line_of(node.outputs.front());
  }

  const graph::Graph& graph_;
  StageText& stage_;
  Tables& tables_;
  std::string text_;
  std::unordered_map<std::string, int32_t> heads_;
  std::vector<int32_t> made_by_;  // of each tensor
  int32_t scope_ = 0;
  int32_t first_line_ = 0;
};

// Launches of one graph of an executable.
class LaunchStage {
 public:
  LaunchStage(const vm::Executable& executable, const vm::Graph& graph, StageText& stage,
              Tables& tables)
      : executable_(executable), graph_(graph), stage_(stage), tables_(tables) {}

  void run() {
    scope_ = static_cast<int32_t>(stage_.scopes.size());
    stage_.scopes.emplace_back();
    made_by_.assign(graph_.places.size(), -1);
    for (uint32_t i = 0; i < graph_.num_inputs; ++i) leaf(i, "Var", "p" + std::to_string(i));
    for (const vm::Launch& launch : graph_.launches) one(launch);
  }

 private:
  uint32_t root(uint32_t place) const {
    while (graph_.places[place].alias != vm::kNone) place = graph_.places[place].alias;
    return place;
  }

  int32_t type_of(uint32_t place) {
    const vm::Place& at = graph_.places[place];
    auto text = [&](uint32_t slot) -> std::string {
      if (slot == vm::kNone) return "?";
      const DimInstruction& dim = graph_.dims[slot];
      return dim.code == DimCode::kConst ? std::to_string(dim.value) : "?";
    };
    return tables_.text(tensor_text(at.dtype, at.extents, text));
  }

  int32_t leaf(uint32_t place, const char* kind, const std::string& label) {
    const int32_t number = stage_.nodes.add(tables_.text(kind), tables_.text(label));
    stage_.nodes.type.back() = type_of(place);
    stage_.nodes.scope.back() = scope_;
    made_by_[place] = number;
    return number;
  }

  void one(const vm::Launch& launch) {
    std::vector<int32_t> read;
    for (const vm::Launch::Argument& argument : launch.arguments) {
      if (argument.written) continue;
      const uint32_t place = root(argument.place);
      if (made_by_[place] < 0) {
        if (graph_.places[place].constant == vm::kNone) continue;
        leaf(place, "Constant", "constant");
      }
      read.push_back(made_by_[place]);
    }
    Nodes& nodes = stage_.nodes;
    const vm::Kernel& kernel = executable_.kernels[launch.kernel];
    const int32_t number = nodes.add(tables_.text("Launch"), tables_.text(kernel.name));
    nodes.attrs.back() = tables_.text(kernel.source);
    nodes.scope.back() = scope_;
    nodes.kernel.back() = static_cast<int32_t>(launch.kernel);
    nodes.place.back() = static_cast<int32_t>(launch.position);
    for (uint32_t origin : launch.origins)
      nodes.origins.back().push_back(static_cast<int32_t>(origin));
    nodes.operands.back() = std::move(read);
    for (const vm::Launch::Argument& argument : launch.arguments) {
      if (!argument.written) continue;
      nodes.type.back() = type_of(argument.place);
      made_by_[root(argument.place)] = number;
    }
  }

  const vm::Executable& executable_;
  const vm::Graph& graph_;
  StageText& stage_;
  Tables& tables_;
  std::vector<int32_t> made_by_;  // of each place that is no alias
  int32_t scope_ = 0;
};

// The lines of launches in an executable's text: "  kernel(…)", in order, behind "graph N …".
void find_launch_lines(std::string_view text, const vm::Executable& executable, StageText& stage) {
  std::vector<size_t> launches;
  for (size_t i = 0; i < stage.nodes.size(); ++i) {
    if (stage.nodes.kernel[i] >= 0) launches.push_back(i);
  }
  size_t next = 0;
  bool in_graphs = false;
  for (int32_t line = 0; !text.empty() && next < launches.size(); ++line) {
    const size_t length = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    in_graphs |= whole.starts_with("graph ");
    const size_t node = launches[next];
    const std::string& name =
        executable.kernels[static_cast<size_t>(stage.nodes.kernel[node])].name;
    if (!in_graphs || !whole.starts_with("  " + name + "(")) continue;
    stage.nodes.line[node] = line;
    stage.nodes.column[node] = 0;
    ++next;
  }
}

}  // namespace

StageText stage_of(std::span<const graph::Graph> graphs, Tables& tables) {
  StageText stage;
  for (const graph::Graph& graph : graphs) GraphStage(graph, stage, tables).run();
  return stage;
}

StageText stage_of(const vm::Executable& executable, Tables& tables) {
  StageText stage;
  for (const vm::Graph& graph : executable.graphs)
    LaunchStage(executable, graph, stage, tables).run();
  const std::string text = disassemble(executable);
  stage.lines = tables.lines(text);
  find_launch_lines(text, executable, stage);
  return stage;
}

void settle_places(StageText& stage, const vm::Executable& executable, Tables& tables) {
  for (int32_t& place : stage.nodes.place)
    place = place < 0 ? -1 : tables.place(executable, static_cast<uint32_t>(place));
  for (std::vector<int32_t>& origins : stage.nodes.origins) {
    // Entry k is operator k + 1 of kernels, though its place may not be known.
    for (int32_t& origin : origins)
      origin = tables.place(executable, static_cast<uint32_t>(origin));
  }
}

}  // namespace relay::explore
