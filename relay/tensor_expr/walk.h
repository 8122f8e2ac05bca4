// Walks the DAGs of scalar expressions without recursion.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <relay/support/pointer_map.h>
#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// Every node below the roots once, operands before users. The expressions of custom combiners are
/// separate: they refer to placeholders only.
std::vector<const ScalarNode*> post_order(std::span<const ScalarRef> roots);

/// Numbers the nodes of `post_order` by their places.
using NodeNumbers = PointerMap<ScalarNode, uint32_t>;
NodeNumbers number_nodes(std::span<const ScalarNode* const> nodes);

/// The dependences of a value: axis ids, and placeholder ids with `kVarFlag` set; sorted.
inline constexpr uint32_t kVarFlag = 0x80000000u;
using FreeSet = std::vector<uint32_t>;

/// The free axes and placeholders of each node of a post-order; folds bind their axes.
std::vector<FreeSet> free_sets(std::span<const ScalarNode* const> nodes,
                               const NodeNumbers& numbers);

/// True if a node may fail by itself, apart from its operands.
bool can_fail(const ScalarNode& node);
/// True if a stage may fail; library kernels may.
bool can_fail(const Stage& stage);

/// The expressions that a stage evaluates (none for views and library calls), in a fixed order.
std::vector<ScalarRef> stage_roots(const Stage& stage);
/// The domain of a stage that has one.
std::span<const Axis> stage_axes(const Stage& stage);
/// Tensors that a stage reads: loads, bases, sources, in order of first use, each once.
std::vector<TensorId> stage_reads(const Stage& stage);

/// The inputs and stages that the outputs of a computation depend on by more than extents.
struct NeededTensors {
  std::vector<bool> inputs;
  std::vector<bool> stages;
};
NeededTensors needed_tensors(const Computation& computation);

}  // namespace relay::te
