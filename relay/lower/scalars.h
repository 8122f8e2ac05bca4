// Rewriting scalar expressions: copies with replacements, simplified on the way.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// A node like `node` that may be changed before it is shared.
Ref<te::ScalarNode> copy_node(const te::ScalarNode& node);

/// Whether it may fail itself, apart from its operands.
bool can_fail(const te::ScalarNode& node);
/// The node, which belongs to that operator if it may fail and belongs to none.
te::ScalarRef of_origin(const te::ScalarRef& node, uint32_t origin);

/// A node like `node` with other operands, simplified as the builders do; the node itself if they
/// are the same objects.
te::ScalarRef with_args(const te::ScalarRef& node, std::vector<te::ScalarRef> args);

/// Rewrites expressions bottom up; nodes with several users stay shared. Results are remembered as
/// long as the rewriter lives.
class ScalarRewriter {
 public:
  /// What stands in a node's place, given its new operands; null for `with_args(node, args)`.
  using Fn = std::function<te::ScalarRef(const te::ScalarRef& node,
                                         const std::vector<te::ScalarRef>& args)>;
  explicit ScalarRewriter(Fn fn) : fn_(std::move(fn)) {}
  te::ScalarRef operator()(const te::ScalarRef& root);
  std::vector<te::ScalarRef> operator()(std::span<const te::ScalarRef> roots);

 private:
  Fn fn_;
  // Keys are kept alive: a node freed in between would lend its address to another one.
  std::unordered_map<const te::ScalarNode*, std::pair<te::ScalarRef, te::ScalarRef>> done_;
};

/// A load of the tensor that `moved` says, with operands `args`; null if `node` is no load or its
/// tensor stays.
using MovedTensor = std::function<te::TensorId(te::TensorId)>;
te::ScalarRef moved_load(const te::ScalarRef& node, const std::vector<te::ScalarRef>& args,
                         const MovedTensor& moved);
/// Does so to all loads.
ScalarRewriter moved_loads(MovedTensor moved);

/// Replaces axes by index expressions and placeholders by values.
te::ScalarRef substitute(const te::ScalarRef& root,
                         const std::unordered_map<uint32_t, te::ScalarRef>& axes,
                         const std::unordered_map<uint32_t, te::ScalarRef>& vars = {});

/// The combiner with its placeholders renumbered.
std::shared_ptr<const te::Combiner> renumber_vars(const te::Combiner& combiner,
                                                  const std::function<uint32_t(uint32_t)>& var);

/// The expressions of a stage, each replaced by `rewrite` of it.
void rewrite_roots(te::Stage& stage,
                   const std::function<te::ScalarRef(const te::ScalarRef&)>& rewrite);

/// The identity of a combiner for accumulator `k` of dtype `dtype`.
te::ScalarRef combiner_identity(const te::Combiner& combiner, size_t k, DType dtype);
/// lhs ⊕ rhs.
std::vector<te::ScalarRef> combine(const te::Combiner& combiner, std::span<const te::ScalarRef> lhs,
                                   std::span<const te::ScalarRef> rhs);
/// Whether the operands of a combiner may change places.
bool is_commutative(const te::Combiner& combiner);
/// Number of accumulators of a fold.
size_t num_accumulators(const te::ScalarNode& fold);

}  // namespace relay::lower
