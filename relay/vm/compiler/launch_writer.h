// Writes a graph of computations for the machine: places, launches, code for sizes.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include <relay/graph/graph.h>
#include <relay/ir/dim_program.h>
#include <relay/vm/compiler/kernel_table.h>

namespace relay::vm {

class LaunchWriter {
 public:
  /// The number of a constant in the executable.
  using ConstantNumber = std::function<uint32_t(const graph::ConstantRef&)>;

  LaunchWriter(const graph::Graph& graph, KernelTable& kernels, ConstantNumber constant);

  Graph write();
  /// Call it after that, once kernels are compiled and the scratch memory of each is known.
  void set_scratch(const std::unordered_map<uint32_t, Dim>& bytes, Graph& written);

 private:
  struct Check {
    Dim a, b;
    SizeText message;
    uint32_t position;
  };
  struct LaunchSizes {
    std::vector<Dim> dims;
    Dim flops, bytes;  // these and the work: `?` if not known
    lower::KernelWork work;
    const graph::Node* node;
  };

  static Dim estimate(const graph::Node& node, Dim dim);
  DimInstruction source(Dim atom) const;
  uint32_t slot(Dim dim) { return program_.slot(dim, written_.dims); }
  SizeText size_text(const DimText& text, const graph::Node* node);
  uint32_t add_place(const te::TensorInfo& info, Device device);
  uint32_t place(uint32_t tensor);
  uint32_t place_to_write(uint32_t tensor, uint32_t position);
  void lay_into(uint32_t tensor, uint32_t place, uint32_t position);
  void add_node(const graph::Node& node);
  void add_results(const graph::Node& node);
  void add_checks(const graph::Node& node);
  std::vector<uint32_t> add_places(const graph::Node& node, const lower::Lowered& lowered);
  void add_launches(const graph::Node& node, const LoweredWork& lowered,
                    const std::vector<uint32_t>& place_of);

  const graph::Graph& graph_;
  KernelTable& kernels_;
  ConstantNumber constant_;
  Graph written_;
  std::vector<std::vector<Dim>> extents_;          // of each place
  std::vector<std::pair<uint32_t, Dim>> offsets_;  // of places in others
  std::vector<uint32_t> place_of_;                 // of each tensor of the graph
  std::vector<Check> checks_;
  std::vector<LaunchSizes> launch_sizes_;
  std::unordered_map<Dim, size_t> symbol_number_;
  DimProgram program_;
  DimProgram text_program_;  // the terms in messages
};

}  // namespace relay::vm
