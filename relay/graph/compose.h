// Composes a group of operators into one computation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <relay/ir/dim_text.h>
#include <relay/ir/expr.h>
#include <relay/tensor_expr/computation.h>

namespace relay::graph {

/// Two terms that must be equal at run time, with the message if they are not (T14).
struct Condition {
  Dim a, b;
  DimText message;
  uint32_t origin = 0;  // of the operator that requires it
};

/// An extent of an operator's result. For some sizes it cannot be computed; the message, if there
/// is one, then replaces that of the arithmetic.
struct ResultDim {
  Dim dim;
  std::optional<DimText> message;
  uint32_t origin = 0;
  bool division = false;  // the message is about a division by zero only
};

/// The computation of a group, with its result types. Its dimensions are integers and terms over
/// symbols and `Dim::value(input, i)` of the group's inputs. Its operators are numbered from 1 in
/// the order of `operators_of`: the origins.
struct Group {
  te::Computation computation;
  std::vector<Condition> checks;
  std::vector<ResultDim> results;  // in order, terms only
  /// The shapes of its operators' results, each with its operator.
  std::vector<std::pair<std::vector<Dim>, uint32_t>> shapes;
};

/// The operator calls of a primitive function, operands first: the first is origin 1.
std::vector<const Call*> operators_of(const Function& primitive);

/// The computation of a primitive function (a body of operator calls, tuples and projections over
/// its parameters and constants; expansions are expanded). `inputs` are the types of its
/// parameters, with symbols for unknown dimensions; tuples flatten. The operators' relations run on
/// them to give every dimension as a term. Throws Error if an operator cannot be computed on
/// unknown dimensions.
Group compose(const Function& primitive, std::span<const TypeRef> inputs);

}  // namespace relay::graph
