// Rewrites scalar expressions: copies with replacements, simplified on the way.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/support/pointer_map.h>
#include <relay/tensor_expr/computation.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {

/// A node that you may fill in before you share it. It belongs to the operator of the
/// `OriginScope`.
Ref<ScalarNode> new_node(ScalarKind kind, DType dtype);
/// A copy of `node` that you may change before you share it; of that operator if `node` has none.
Ref<ScalarNode> copy_node(const ScalarNode& node);

/// A node like `node` with other operands, simplified like those of the builders; the node itself
/// if they are the same objects. What is new belongs to the operator of `node`.
ScalarRef with_args(const ScalarRef& node, std::vector<ScalarRef> args);

/// Rewrites expressions bottom up; nodes with several users stay shared. Results are remembered as
/// long as the rewriter lives. New nodes belong to the operators of those that they replace.
class ScalarRewriter {
 public:
  /// Returns the replacement of a node, given its new operands; null for `with_args(node, args)`.
  using Fn = std::function<ScalarRef(const ScalarRef& node, const std::vector<ScalarRef>& args)>;
  explicit ScalarRewriter(Fn fn) : fn_(std::move(fn)) {}
  ScalarRef operator()(const ScalarRef& root);
  std::vector<ScalarRef> operator()(std::span<const ScalarRef> roots);

 private:
  Fn fn_;
  // Keys are kept alive: the address of a freed node could become that of another one.
  PointerMap<ScalarNode, std::pair<ScalarRef, ScalarRef>> done_;
};

/// A load of the tensor that `moved` gives, with operands `args`; null if `node` is not a load or
/// its tensor stays.
using MovedTensor = std::function<TensorId(TensorId)>;
ScalarRef moved_load(const ScalarRef& node, const std::vector<ScalarRef>& args,
                     const MovedTensor& moved);
/// Moves all loads in this way.
ScalarRewriter moved_loads(MovedTensor moved);

/// Replaces axes by index expressions and placeholders by values.
ScalarRef substitute(const ScalarRef& root, const std::unordered_map<uint32_t, ScalarRef>& axes,
                     const std::unordered_map<uint32_t, ScalarRef>& vars = {});

/// Makes equal nodes one object, so that each is computed once. Folds and failures stay apart.
std::vector<ScalarRef> share_equal(std::span<const ScalarRef> roots);

/// The combiner with its placeholders renumbered.
std::shared_ptr<const Combiner> renumber_vars(const Combiner& combiner,
                                              const std::function<uint32_t(uint32_t)>& var);

/// Replaces the expressions of a stage by their `rewrite`.
void rewrite_roots(Stage& stage, const std::function<ScalarRef(const ScalarRef&)>& rewrite);

/// The identity of a combiner for accumulator `k` of dtype `dtype`.
ScalarRef combiner_identity(const Combiner& combiner, size_t k, DType dtype);
/// lhs ⊕ rhs.
std::vector<ScalarRef> combine(const Combiner& combiner, std::span<const ScalarRef> lhs,
                               std::span<const ScalarRef> rhs);
/// Number of accumulators of a fold.
size_t num_accumulators(const ScalarNode& fold);

}  // namespace relay::te
