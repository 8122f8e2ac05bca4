// Wording of type errors.
#pragma once

#include <string>

#include <relay/infer/solver.h>
#include <relay/ir/expr.h>
#include <relay/support/diagnostic.h>

namespace relay::inference {

/// A type for people: what is solved is shown, undecided literals as their default, the rest as
/// `_`.
std::string display(Solver& solver, const TypeRef& type);
/// The source text of a span on one line, cut; or the expression as printed.
std::string source_text(Span span, size_t width = 40);
std::string source_text(const Expr* expr, size_t width = 40);
/// Where an operand is used: variables are one node for all their uses, so theirs is the user's
/// place.
Span use_span(const Expr* operand, const Expr* user);
/// The same as exactly as the text tells, by reading it again: for errors.
Span place_of(const Expr* user, size_t operand);
/// The expression that gives a block its value: the last body of a chain of lets.
const Expr* tail(const Expr* expr);
/// What helps where a function calls itself at another type than its own (T12).
inline constexpr const char* kAnnotateRecursion =
    "a function that calls itself at other types needs all its parameters and its result annotated";
/// "a float", "an integer", … what a class of dtypes admits.
std::string numeric_name(Numeric numeric);

/// Adds what the last failed unification knows beyond the two types: the innermost reason, and
/// where variables got their value.
void explain(Diagnostic& diagnostic, Solver& solver);

/// "WHAT: expected EXPECTED, found FOUND" with a note at the place that demands `expected`.
Diagnostic type_mismatch(Solver& solver, const std::string& what, const TypeRef& expected,
                         const TypeRef& found, Span span);

}  // namespace relay::inference
