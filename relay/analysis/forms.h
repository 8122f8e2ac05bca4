// Normal forms.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// Whether every compound node is used in one region only (language.md E1): what two branches
/// share, or a function and what is around it, is bound by a let.
bool in_basic_block_form(const Expr* root);

}  // namespace relay
