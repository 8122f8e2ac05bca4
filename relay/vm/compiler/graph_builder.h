// Groups in a row become one graph of the machine.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include <relay/ir/dim_program.h>
#include <relay/vm/compiler/groups.h>

namespace relay::vm {

/// A launch whose scratch memory is known when its kernel is compiled.
struct PendingScratch {
  uint32_t launch;
  uint32_t kernel;                     // in the executable
  std::unordered_map<Dim, Dim> terms;  // what the symbols of its group stand for
};

/// Builds one graph. Tensors are numbered as they are added; dimensions are integers and terms over
/// the graph's own symbols.
class GraphBuilder {
 public:
  GraphBuilder(Executable& executable, GroupCache& groups)
      : executable_(executable),
        groups_(groups),
        program_([this](Dim atom) { return source(atom); }),
        text_program_([this](Dim atom) { return source(atom); }) {}

  bool empty() const { return graph_.launches.empty() && tensors_.empty(); }
  /// A tensor in a register; unknown dimensions get symbols.
  uint32_t add_input(const te::TensorInfo& info, Device device);
  /// `constant` is on that device.
  uint32_t add_constant(const te::TensorInfo& info, uint32_t constant, Device device);
  const te::TensorInfo& info(uint32_t tensor) const { return tensors_[tensor].info; }
  bool is_input(uint32_t tensor) const { return tensors_[tensor].input != kNone; }
  bool is_constant(uint32_t tensor) const { return tensors_[tensor].place.constant != kNone; }
  /// Whether it is a number that lies in a tensor on another device.
  bool lies_elsewhere(uint32_t tensor, Device device) const;

  /// What the dimensions of these tensors become in a group, and back.
  struct Canonical {
    std::vector<Dim> actual;  // of canonical symbol k
    std::unordered_map<Dim, Dim> symbol_of;
    Dim operator()(Dim dim);
  };
  /// Adds the work of a group; returns its results, which are on `device`. `origins` are the
  /// positions of its operators.
  std::vector<uint32_t> add_group(CompiledGroup& group, const Canonical& canonical,
                                  std::span<const uint32_t> args, Device device, uint32_t position,
                                  std::vector<uint32_t> origins);

  /// Inputs in order of the graph, as tensors.
  const std::vector<uint32_t>& inputs() const { return inputs_; }
  /// Finishes the graph with these results.
  Graph finish(std::span<const uint32_t> outputs, std::string name);
  /// After that: launches whose scratch memory is still to be set, and the code for it.
  const std::vector<PendingScratch>& scratch() const { return scratch_; }
  uint32_t dim_slot(Dim dim, Graph& graph) { return program_.slot(dim, graph.dims); }
  uint32_t scratch_slot(const PendingScratch& pending, Dim bytes, Graph& graph);

 private:
  struct Tensor {
    te::TensorInfo info;
    Place place;  // extents are written at the end
    uint32_t input = kNone;
  };
  struct Symbol {
    bool element;  // an element of an input, else an extent
    uint32_t tensor;
    uint32_t index;
  };
  struct Check {
    Dim a, b;
    SizeText message;
    uint32_t position;
  };
  using Terms = std::unordered_map<Dim, Dim>;  // canonical symbols → terms of this graph
  DimInstruction source(Dim atom);
  SizeText size_text(const DimText& text, const Terms& terms);
  void add_results(const CompiledGroup& group, const Terms& terms,
                   const std::function<uint32_t(uint32_t)>& position_of);
  Dim new_symbol(Symbol symbol);

  Executable& executable_;
  GroupCache& groups_;
  Graph graph_;
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> inputs_;
  std::vector<Symbol> symbols_;
  std::unordered_map<Dim, size_t> symbol_number_;
  std::unordered_map<const TypeVar*, Dim> named_;
  std::vector<Check> checks_;
  struct LaunchDims {
    std::vector<Dim> dims;
    Dim flops, bytes;
  };
  std::vector<LaunchDims> launch_dims_;
  std::vector<PendingScratch> scratch_;
  DimProgram program_;
  DimProgram text_program_;  // of what messages say
};

}  // namespace relay::vm
