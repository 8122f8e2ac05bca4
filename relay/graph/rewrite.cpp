#include <relay/graph/rewrite.h>

#include <array>

namespace relay::graph {

ConstantRef Rewriting::computed(const te::Computation& computation, std::vector<ConstantRef> inputs,
                                Device device, Shortcut shortcut) {
  auto& shared = computations_[computation.str()];
  if (shared == nullptr) shared = std::make_shared<const te::Computation>(computation);
  std::vector<const Constant*> key;
  for (const ConstantRef& input : inputs) key.push_back(input.get());
  ConstantRef& made = made_[{shared.get(), std::move(key)}];
  // Inputs are on one device, and the result with them.
  if (made == nullptr)
    made = Constant::computed(shared, std::move(inputs), device, std::move(shortcut));
  return made;
}

uint32_t Rewriting::tensor_of(Graph& graph, const ConstantRef& constant, te::TensorInfo info,
                              Device device) {
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].constant == constant) return static_cast<uint32_t>(i);
  }
  graph.tensors.push_back({Tensor::Kind::kConstant, std::move(info), device, constant});
  return static_cast<uint32_t>(graph.tensors.size() - 1);
}

ConstantReaders::ConstantReaders(Rewriting& program) : elsewhere_(program.read_elsewhere) {
  for (const Graph& graph : program.graphs()) {
    for (const Node& node : graph.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const ConstantRef& constant = graph.tensors[node.inputs[i]].constant;
        if (constant != nullptr) readers_[constant.get()].emplace(node.work.get(), i);
      }
    }
    for (uint32_t output : graph.outputs) {
      const ConstantRef& constant = graph.tensors[output].constant;
      if (constant != nullptr) program.read_elsewhere.insert(constant.get());
    }
  }
}

bool ConstantReaders::may_replace(const Graph& graph, const Node& node, size_t input,
                                  bool shared) const {
  constexpr int64_t kSmall = int64_t{64} << 10;  // bytes that may be kept twice
  const Tensor& tensor = graph.tensors[node.inputs[input]];
  if (tensor.constant == nullptr || tensor.info.dims.empty()) return false;
  // One of equal numbers takes no memory.
  if (tensor.constant->computation() == nullptr && tensor.constant->value().array().is_uniform())
    return false;
  Dim bytes = product(tensor.info.dims) * Dim(static_cast<int64_t>(tensor.info.dtype.size()));
  return bytes.as_int() <= kSmall || (elsewhere_.count(tensor.constant.get()) == 0 &&
                                      (shared || of(*tensor.constant).size() == 1));
}

std::vector<bool> ConstantReaders::replaceable(const Graph& graph, const Node& node,
                                               bool shared) const {
  std::vector<bool> result(node.inputs.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = may_replace(graph, node, i, shared);
  return result;
}

std::span<const Rewrite> all_rewrites() {
  static constexpr std::array<Rewrite, 10> kRewrites{{
      {"drop_outputs", "Works do not compute what nothing reads.", drop_outputs},
      {"prepare_constants", "What depends on constants alone is computed once.", prepare_constants},
      {"join_products", "Products that run block by block, one after the other, are one work.",
       join_products},
      {"split_outputs", "Results that have nothing in common are works of their own.",
       split_outputs},
      {"join_rows", "Works over rows that stay in a cache go through memory once.", join_rows},
      {"join_points", "Works over the same points go through memory once.", join_points},
      {"winograd", "Convolutions take fewer multiplications, in tiles.", winograd},
      {"pack_operands", "Constant operands of products lie as kernels read them.", pack_operands},
      {"place_parts", "Operands of concatenations are computed in their place.", place_parts},
      {"free_early", "Work that frees large tensors runs as soon as it can.", free_early},
  }};
  return kRewrites;
}

void Rewriting::verify_graphs() { verify(graphs_, verified_, options_.threads); }

void rewrite(Rewriting& program, const RewriteObserver& observer) {
  if (observer) observer("composed", program.graphs(), true);
  for (const Rewrite& each : all_rewrites()) {
    bool changed = each.apply(program);
    if (changed) program.verify_graphs();
    if (observer) observer(each.name, program.graphs(), changed);
  }
}

}  // namespace relay::graph
