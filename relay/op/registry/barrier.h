// Marks of what a gradient computes again, and what keeps that apart from the first computation.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// True for a call of `annotation.checkpoint`.
bool is_checkpoint(const Expr* expr);
/// The bytes of states that a loop which leads to the checkpoint may keep; 0 if it says none.
int64_t checkpoint_bytes(const Expr* checkpoint);
ExprRef make_checkpoint(const ExprRef& data, Span span);

/// `data`, known only once `after` is: what is computed from it is another value for every pass,
/// and comes later. It is no copy.
ExprRef make_barrier(const ExprRef& data, const ExprRef& after, Span span);

}  // namespace relay
