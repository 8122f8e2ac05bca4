// Wording of type errors.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <relay/infer/solve/solver.h>
#include <relay/ir/expr.h>
#include <relay/support/diagnostic.h>

namespace relay::inference {

/// A type for people: what is solved is shown, undecided literals as their default, the rest as
/// `_`.
std::string display(Solver& solver, const TypeRef& type);
/// The same with the names of dimensions that a call has given a value, and what they are:
/// "Tensor[(n, 3), float32] where n = 4".
std::string display_named(Solver& solver, const TypeRef& type);
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

/// What is wrong with two dimensions that were to be equal.
Diagnostic dims_mismatch(Solver& solver, const Solver::DimEquality& equality);

/// "in @f with n = 4, which is called here": the function in which an error is, with what the types
/// of the call make of the names that it declares.
DiagnosticNote call_note(const std::string& callee, const Function* function,
                         const std::vector<std::pair<TypeVarRef, TypeRef>>& types, Span span);
/// Adds notes of the calls that lead to an error, the innermost first; the middle of very many is
/// left out.
void add_path(Diagnostic& diagnostic, size_t count,
              const std::function<DiagnosticNote(size_t i)>& call);

/// After a failed unification of an argument: which of the parameters before it have made the
/// dimension names what they are. `argument` tells how argument i is called and where it is.
void note_names(Diagnostic& diagnostic, Solver& solver, std::span<const TypeRef> params,
                const std::function<DiagnosticNote(size_t i)>& argument);

/// "WHAT: expected EXPECTED, found FOUND" with a note at the place that demands `expected`.
Diagnostic type_mismatch(Solver& solver, const std::string& what, const TypeRef& expected,
                         const TypeRef& found, Span span);

}  // namespace relay::inference
