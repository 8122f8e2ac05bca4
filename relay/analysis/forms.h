// Normal forms.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// A constant, a literal, or a tuple of such.
bool is_constant_expr(const Expr* root);

/// Whether every compound node is used in one region only (language.md E1): what two branches
/// share, or a function and what is around it, is bound by a let.
bool in_basic_block_form(const Expr* root);

/// Whether every operand is a variable, a constant or the like, and everything else is bound by a
/// let, ends a region, or is a function in a let.
bool in_a_normal_form(const Expr* root);

}  // namespace relay
