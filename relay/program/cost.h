// The cost of calls: a column of typed functions.
#pragma once

#include <optional>

#include <relay/op/registry/facts.h>
#include <relay/program/view.h>

namespace relay {

/// True if rank and dtype of all tensors of a type are known: what a call computes is not known
/// without. As deep as an operator's type.
bool has_known_tensors(const Type* type);

/// A call of an operator with the types of its arguments and result; nothing for other nodes, and
/// where rank or dtype of a tensor is not known.
std::optional<OpCall> typed_call(const Expr* expr);

/// The cost of a call of an operator on published types; nothing for other nodes, where a type is
/// missing and where the call does not fit its operator.
std::optional<Cost> call_cost(const Expr* expr);

}  // namespace relay
