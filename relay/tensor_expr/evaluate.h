// Direct evaluation of computations: the meaning of tensor expressions, a row at a time.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// Values of named dimensions.
using SymbolValue = std::function<int64_t(const TypeVar* symbol)>;

/// The value of an integer term, given the call's inputs (for `Dim::value`) and its symbols.
int64_t evaluate_dim(Dim dim, std::span<const NDArray> inputs, const SymbolValue& symbols = {});

/// While it lives, `evaluate` on this thread (also below library functions that call it) throws
/// `Error` instead of making more than `bytes` of tensors or visiting more than `points` points.
class EvaluationLimit {
 public:
  EvaluationLimit(double bytes, double points);
  ~EvaluationLimit();
  EvaluationLimit(const EvaluationLimit&) = delete;
  EvaluationLimit& operator=(const EvaluationLimit&) = delete;

  /// True if this thread has a limit.
  static bool is_set();
  /// Reduces the rest of this thread's innermost limit, if there is one.
  static void take(double bytes, double points);

 private:
  double bytes_;
  double points_;
  EvaluationLimit* outer_;
};

/// Runs a computation on inputs of fitting shape and dtype. No compilation: each scalar node is
/// applied to a row of indices at once. A Map whose points are all equal gives a uniform array
/// without visiting them. Throws RuntimeError if a Fail node or a failing load is reached. The
/// results are on `device`.
std::vector<NDArray> evaluate(const Computation& computation, std::span<const NDArray> inputs,
                              const SymbolValue& symbols = {}, Device device = kCpu);

}  // namespace relay::te
