// The parts of FoldScaleAxis: factors along one axis, and the calls that take them.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/op/registry/scaling.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/call_map.h>
#include <relay/transform/lazy_effects.h>

namespace relay {

/// A call that multiplies a tensor by factors along one axis of it.
struct ScaledCall {
  uint32_t node;  // its number in the view
  const Call* call;
  uint32_t data;               // the argument that is scaled
  const Expr* factors;         // the other one
  std::optional<size_t> axis;  // nothing: one factor for all
  bool positive = false;       // constants, all above 0
  bool divides = false;        // constants, none so small that quotients could overflow
};

/// An argument that is multiplied or divided by factors along one of its dimensions.
struct ScaledArgument {
  uint32_t argument;
  size_t dim;
  const ScaledCall* scale;
  bool divide = false;
};

/// The factors of a function, and their new places.
class ScaleFolder {
 public:
  /// With `constants`, only by constants, into weights that are constants.
  ScaleFolder(const FunctionRef& function, const LazyEffects& effects, bool constants);

  const View& view() const { return view_; }
  /// The calls that scale a tensor, operands before users; none if no call can take factors.
  std::vector<ScaledCall> scaled_calls();
  /// The relation of a call to factors; null if it can take none.
  const CallScaling* scaling(const Expr* expr);
  /// True if factors may stand at an argument that is a weight. It has their dtype: a product of
  /// float16 whose sums are float32 has factors of float32, which a weight would round.
  bool takes(const Expr* weight, const ScaledCall& scale) const;
  /// True if an argument is so small along all but one dimension that factors cost nothing there,
  /// and has their dtype.
  static bool is_vector(const Expr* expr, size_t dim, const ScaledCall& scale);

  /// Moves the factors of `scale` to these arguments.
  void fold(const ScaledCall& scale, std::vector<std::pair<const Call*, ScaledArgument>> places);
  /// The rewritten function; the same if nothing was folded.
  FunctionRef finish(const FunctionRef& function);

 private:
  std::optional<ScaledCall> scaled_call(uint32_t node);
  bool any_weight();

  const LazyEffects& effects_;
  const View& view_;
  bool constants_;
  CallMap<std::optional<CallScaling>> known_;
  std::vector<std::unique_ptr<ScaledCall>> folded_;
  PointerMap<Expr, uint32_t> removed_;  // calls, with the argument that replaces them
  std::unordered_map<const Expr*, std::vector<ScaledArgument>> places_;
};

/// The largest number of steps that factors may travel.
inline constexpr int kMaxScaleSteps = 64;

}  // namespace relay
