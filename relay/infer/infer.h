// Type inference (language.md §4, T1–T17).
#pragma once

#include <span>
#include <vector>

#include <relay/ir/module.h>
#include <relay/support/diagnostic.h>

namespace relay {

/// Infers and checks the whole module: publishes a type on every node (`Expr::type`) and the type
/// or scheme of every global function on it. Functions that call no operator are not visited again
/// while global signatures are the same; `infer_types_again` (again.h) leaves all such functions
/// alone. Reports all problems, warnings too (clauses that can never run, …); the module is well
/// typed if none is an error.
///
/// Nodes may be shared with other modules, which other threads use and type meanwhile. A function
/// gets all its types at once or, if something is wrong, none; the type of a node never changes. So
/// if a function's nodes already have other types, from another module or because a function that
/// it calls has changed, a copy replaces the function in `module`.
std::vector<Diagnostic> infer_types(Module& module);

/// Like `infer_types`, but throws `Error` if there are errors; warnings go to `warnings` if given.
void infer_types_or_throw(Module& module, std::vector<Diagnostic>* warnings = nullptr);

/// Finds the errors in the instances that the monomorphic functions of a typed program need, and in
/// those that polymorphic ones need for all of their types (T14, T16). `specialize` finds further
/// ones only from the types of the arguments. Call it for programs as they were written, because a
/// pass may leave a call where it never runs.
std::vector<Diagnostic> check_instances(const Module& module);

/// The type of one expression whose free variables have annotations; throws `Error`. Its nodes get
/// types if none of them has another one.
TypeRef infer_expr_type(const ExprRef& expr, const Module& module);

/// The type or scheme of a global function.
TypeRef function_signature(const Module& module, Name function);

/// The type of a call's result. Variables that the signature quantifies only for the result belong
/// to the result (T17), so a returned function, alone or in a tuple, may be polymorphic.
TypeRef result_type(const FuncType* signature);

/// Specialises (T16, T17): returns a module whose entry takes exactly `arguments`, and in which
/// every function reachable from it is monomorphic wherever its code depends on it (constraints,
/// literals, operators). Literals have become constants. All types are published. Throws `Error` if
/// the arguments do not fit. The result's entry has the same name. `arguments` are closed types.
Module specialize(const Module& module, Name entry, std::span<const TypeRef> arguments);

/// Checks well-formedness apart from types: every variable bound once and used in scope, effectful
/// nodes with one parent (E4), no TempExpr. Empty if all is well.
std::vector<Diagnostic> verify(const Module& module);

/// The kind of a type, checking all parts; adds problems (language.md §3) to `sink`.
Kind check_kind(const TypeRef& type, const Module& module, DiagnosticSink& sink, Span span = {});

/// The values that no clause of a match covers.
struct UnmatchedCases {
  std::vector<PatternRef> examples;  // as patterns
  /// True if these are all, or as many as were asked for. False if the search gave up, because it
  /// takes time exponential in the patterns: then other values may exist.
  bool decided = true;
  bool complete() const { return decided && examples.empty(); }
};
/// At most `most` examples.
UnmatchedCases unmatched_cases(const Match& match, const Module& module, size_t most = 4);

}  // namespace relay
