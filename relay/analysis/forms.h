// Normal forms.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// True if every compound node is used in one region only (language.md E1): a let binds every node
/// that two branches share, or a function and the code around it.
bool in_basic_block_form(const Expr* root);

}  // namespace relay
