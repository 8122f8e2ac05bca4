// Program text with a remark after each expression.
#pragma once

#include <functional>
#include <string>

#include <relay/ir/module.h>

namespace relay {

/// The remark on a node of a global function or of the expression that is printed, or nothing. A
/// `/` beside a `*` in it is printed as `\x2f`, as it would end its comment or begin another.
using NodeRemark = std::function<std::string(const Expr* function, const Expr* expr)>;

/// The module as text, with a comment after each expression and each bound variable that has a
/// `remark`. Operators, constructors and lets have no place for one. Without `values`, large
/// constants have their shapes only.
std::string print_annotated(const Module& module, const NodeRemark& remark, bool values = true);
/// The same of one expression: `print_expr` with remarks.
std::string print_annotated(const Expr* expr, const NodeRemark& remark, bool values = true);

}  // namespace relay
