// Applies one operator to values, straight from its definition.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/op/op.h>
#include <relay/runtime/value.h>

namespace relay::eval {

struct Prepared;

/// Calls a closure of the evaluator with arguments that are known to fit it.
Value call_within(const Value& closure, std::span<const Value> arguments);

/// A place where an operator is called. Remembers its work for argument types that it has met.
class ApplySite {
 public:
  /// Inputs and results are on `device`, unless the operator requires otherwise.
  ApplySite(const Operator* op, AttrsRef attrs, Device device);
  ~ApplySite();
  const Operator* op() const { return op_; }
  /// Runs the operator's relation on the run-time types, then its definition. Throws Error for
  /// arguments that do not fit, RuntimeError if the computation fails.
  Value apply(std::span<const Value> arguments);

 private:
  Prepared* find(std::span<const Value> arguments);
  std::unique_ptr<Prepared> prepare(std::span<const Value> arguments, bool& reusable);
  Value run(Prepared& prepared, std::span<const Value> arguments);
  Value compute(Prepared& prepared, std::span<const Value> arguments) const;

  const Operator* op_;
  AttrsRef attrs_;
  Device from_, to_;  // of inputs and results
  std::vector<std::unique_ptr<Prepared>> prepared_;
};

}  // namespace relay::eval
