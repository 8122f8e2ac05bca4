// The parts of the derivation of adjoints.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/tensor_expr/adjoint.h>
#include <relay/tensor_expr/builder.h>

namespace relay::te {

/// The dtype in which gradients of a tensor add up.
inline DType sum_dtype(DType dtype) { return dtype.bits < 32 ? kFloat32 : dtype; }
inline Scalar zero(DType dtype) { return constant(0.0, dtype); }

/// Indices that replace the axes of an expression.
using AxisValues = std::unordered_map<uint32_t, ScalarRef>;
AxisValues bind_axes(std::span<const Axis> axes, Indices indices);
std::vector<Dim> extents_of(std::span<const Axis> axes);
std::vector<Scalar> indices_of(std::span<const Axis> axes);

/// Nodes below the roots, operands before users, without those inside of folds.
std::vector<ScalarRef> level_order(std::span<const ScalarRef> roots);

/// The condition under which each node of a level is evaluated, from the conditions of selects and
/// failures around it.
class Guards {
 public:
  explicit Guards(std::span<const ScalarRef> order, std::span<const ScalarRef> roots,
                  const Scalar& around = {});
  /// Null: always.
  const Scalar& of(const ScalarNode* node) const { return guards_.at(node).when; }
  /// A condition that stands within a node, made so that it may be asked where that is not
  /// evaluated: false there, if it reads what may be out of range then.
  Scalar anywhere(const ScalarNode* within, const ScalarRef& condition) {
    return anywhere(of(within), condition);
  }

 private:
  struct Guard {
    bool reached = false;
    Scalar when;
  };
  void join(const ScalarNode* node, const Scalar& when);
  Scalar both(const Scalar& outer, const Scalar& condition);
  Scalar anywhere(const Scalar& when, const Scalar& condition);
  bool is_harmless(const ScalarRef& condition);
  Scalar opposite(const ScalarRef& condition);

  std::unordered_map<const ScalarNode*, Guard> guards_;
  std::unordered_map<const ScalarNode*, Scalar> opposites_;
  std::unordered_map<const ScalarNode*, bool> harmless_;
};

using IsActive = std::function<bool(const ScalarNode& leaf)>;
/// True for each node of an order that changes smoothly with an active load or placeholder.
std::unordered_map<const ScalarNode*, bool> active_nodes(std::span<const ScalarRef> order,
                                                         const IsActive& is_active);

/// The adjoint of a load or a placeholder.
struct LeafAdjoint {
  ScalarRef leaf;
  Scalar value;  // 0 where the leaf is not evaluated
  Scalar guard;  // the condition for evaluating it; null: always
};
/// Σ seed · ∂ root / ∂ leaf for each active leaf. `around`: the condition of the roots, if they
/// have one.
std::vector<LeafAdjoint> differentiate(std::span<const ScalarRef> roots,
                                       std::span<const Scalar> seeds, const IsActive& is_active,
                                       const Scalar& around = {});

/// The fold whose accumulators are all values of a Map, or null.
const ScalarNode* only_fold(const Map& map);
/// Gives every fold a stage of its own, except folds over the carries of a scan.
Computation lift_folds(const Computation& computation);

/// An index that must be in range for a point to count.
struct RangeCondition {
  std::optional<uint32_t> axis;  // the axis whose value it is, if it is one of the scope's
  Dim extent;
  Scalar value;
};
/// The points of a scope at which given indices name a given element: values of the scope's axes in
/// terms of the element's indices and of free axes, and conditions.
struct Preimage {
  AxisValues axes;
  std::vector<Axis> free;
  std::vector<RangeCondition> ranges;
  std::vector<Scalar> conditions;
};
/// Solves indices(scope) = target, elements of a tensor of extents `dims`; nothing if they are not
/// sums of axes. `fresh` makes axes.
std::optional<Preimage> preimage(std::span<const ScalarRef> indices, std::span<const Dim> dims,
                                 std::span<const Axis> scope, Indices target,
                                 const std::function<Axis(Dim)>& fresh);

/// True if the value is 0 wherever an axis is outside of `extent`, provided that loads at it fill
/// with 0 there. Adds those loads to `filled`.
bool vanishes_outside(const Scalar& value, uint32_t axis, Dim extent,
                      const std::function<const TensorInfo&(TensorId)>& info,
                      std::vector<const ScalarNode*>& filled);
/// The value with these loads filled with 0 outside.
Scalar fill_outside(const Scalar& value, std::span<const ScalarNode* const> loads);

/// For a stage that is a fold: the factors of its values v (in terms of the axes of the stage and
/// the fold), from the stage's first result and the gradients of its accumulators (null: none).
/// Adds stages.
std::vector<Scalar> fold_seeds(Builder& b, const Map& map, const ScalarNode& fold,
                               const Tensor& result, std::span<const Scalar> gradients);

}  // namespace relay::te
