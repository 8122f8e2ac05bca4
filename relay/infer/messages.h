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

/// A type for people: solved parts are shown, undecided literals as their default, the rest as `_`.
std::string display(Solver& solver, const TypeRef& type);
/// The same, with the values that a call has given to dimension names: "Tensor[(n, 3), float32]
/// where n = 4".
std::string display_named(Solver& solver, const TypeRef& type);
/// The source text of a span on one line, cut; or the expression as printed.
std::string source_text(Span span, size_t width = 40);
std::string source_text(const Expr* expr, size_t width = 40);
/// The place where an operand is used. A variable is one node for all its uses, so its place is the
/// user's.
Span use_span(const Expr* operand, const Expr* user);
/// The same, exactly as the text has it, by reading the text again: for errors.
Span place_of(const Expr* user, size_t operand);
/// The place of the value that a call's text gives to an attribute by name, or else the call's.
Span place_of_attribute(const Call* call, std::string_view name);
/// The expression that gives a block its value: the last body of a chain of lets.
const Expr* tail(const Expr* expr);
/// A help for a function that calls itself at another type than its own (T12).
inline constexpr const char* kAnnotateRecursion =
    "a function that calls itself at other types needs all its parameters and its result annotated";
/// "a float", "an integer", …: the numbers that a class of dtypes admits.
std::string numeric_name(Numeric numeric);

/// Adds the further details of the last failed unification: the innermost reason, and the places
/// where variables got their values.
void explain(Diagnostic& diagnostic, Solver& solver);

/// The error about two dimensions that were to be equal.
Diagnostic dims_mismatch(Solver& solver, const Solver::DimEquality& equality);

/// The call in a function of the operator that a relation belongs to; null if there are several.
const Call* only_call_of(const Function* function, const Relation* relation);

/// "in @f with n = 4, which is called here": the function that has an error, with the values that
/// the types of the call give to its declared names.
DiagnosticNote call_note(const std::string& callee, const Function* function,
                         const std::vector<std::pair<TypeVarRef, TypeRef>>& types, Span span);
/// Adds notes of the calls that lead to an error, the innermost first; very many lose their middle.
void add_path(Diagnostic& diagnostic, size_t count,
              const std::function<DiagnosticNote(size_t i)>& call);

/// After a failed unification of an argument: notes which earlier parameters determined the
/// dimension names. `argument` gives the name and place of argument i.
void note_names(Diagnostic& diagnostic, Solver& solver, std::span<const TypeRef> params,
                const std::function<DiagnosticNote(size_t i)>& argument);

/// "WHAT: expected EXPECTED, found FOUND" with a note at the place that demands `expected`.
Diagnostic type_mismatch(Solver& solver, const std::string& what, const TypeRef& expected,
                         const TypeRef& found, Span span);

}  // namespace relay::inference
