// Operands of products that are constants are stored as kernels read them: packing, which would be
// done in each run, is a computation on the constant.
#include <algorithm>
#include <map>

#include <relay/graph/rewrite.h>
#include <relay/graph/unread.h>

namespace relay::graph {
namespace {

/// A work whose inputs of a mask are packed.
struct Packed {
  struct Operand {
    size_t input;  // of the old work
    te::Computation packing;
  };
  std::vector<Operand> operands;  // the last inputs of the new one, in order
  WorkRef work;
  std::vector<size_t> kept;  // inputs of the old work, the first of the new one
};

class Packer {
 public:
  explicit Packer(Rewriting& program) : program_(program), readers_(program) {}

  bool run() {
    bool changed = false;
    for (Graph& graph : program_.graphs()) {
      for (Node& node : graph.nodes) changed |= pack(graph, node);
    }
    return changed;
  }

 private:
  bool pack(Graph& graph, Node& node) {
    std::vector<bool> mask = readers_.replaceable(graph, node);
    if (std::find(mask.begin(), mask.end(), true) == mask.end()) return false;
    auto [entry, added] = packed_.try_emplace({node.work.get(), mask});
    Packed& packed = entry->second;
    if (added) packed = pack_work(node.work, mask);
    if (packed.operands.empty()) return false;
    std::vector<uint32_t> inputs;
    for (size_t old : packed.kept) inputs.push_back(node.inputs[old]);
    for (const Packed::Operand& operand : packed.operands) {
      const Tensor& from = graph.tensors[node.inputs[operand.input]];
      Device device = from.device;
      ConstantRef made = program_.computed(operand.packing, {from.constant}, device);
      te::TensorInfo info = operand.packing.info(operand.packing.outputs[0].tensor);
      inputs.push_back(Rewriting::tensor_of(graph, made, std::move(info), device));
    }
    originals_.push_back(std::exchange(node.work, packed.work));
    node.inputs = std::move(inputs);
    return true;
  }

  /// Whether all that is packed is: a work may leave open what its nodes know.
  static bool is_known(const te::Computation& packing) {
    const te::Output& made = packing.outputs[0];
    auto known = [](const std::vector<Dim>& dims) {
      return std::all_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_int(); });
    };
    return known(packing.inputs[0].dims) && known(packing.info(made.tensor).dims);
  }

  Packed pack_work(const WorkRef& work, const std::vector<bool>& mask) const {
    Packed result;
    auto changed = std::make_shared<Work>(*work);
    te::Computation& computation = changed->group.computation;
    std::vector<bool> left = mask;  // each operand once
    while (true) {
      std::optional<PackedOperand> packed = program_.options().packing_of(
          computation, [&](size_t input) { return input < left.size() && left[input]; });
      if (!packed || !is_known(packed->packing)) break;
      left[packed->input] = false;
      result.operands.push_back({packed->input, std::move(packed->packing)});
      computation = std::move(packed->computation);
    }
    if (result.operands.empty()) return result;
    std::vector<bool> wanted(computation.inputs.size());
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = i >= mask.size() || !mask[i];
    for (const Work::Element& element : work->elements) wanted[element.input] = true;
    for (size_t old : drop_unread(computation, wanted)) {
      if (old < mask.size()) result.kept.push_back(old);
    }
    renumber_elements(*changed, result.kept);
    result.work = std::move(changed);
    return result;
  }

  Rewriting& program_;
  ConstantReaders readers_;
  std::map<std::pair<const Work*, std::vector<bool>>, Packed> packed_;
  std::vector<WorkRef> originals_;  // keys go by address
};

}  // namespace

bool pack_operands(Rewriting& program) {
  return program.options().packing_of && Packer(program).run();
}

}  // namespace relay::graph
