// What a run compares with the shapes that a program declares (T14, T15), on whichever machine.
#pragma once

#include <string>
#include <vector>

#include <relay/infer/runtime/flows.h>

namespace relay {

/// A value that must have the shapes that a type says.
struct DeclaredShape {
  TypeRef type;
  std::string what;  // "the result of @f"
  Span span;
  bool inside = false;  // also of tensors in data values and references, which are walked
  /// Whose value it is: a parameter's, of the function or of one around it; else an operand's of
  /// the call, if not 0.
  const Var* param = nullptr;
  size_t operand = 0;
};

/// A function, in those around it.
struct FunctionScope {
  const Function* function = nullptr;
  std::string name;
  const FunctionScope* outer = nullptr;
};

/// What is compared at once: a dimension name has one value in all of it. Parameters that say what
/// the names are come first, what is asked about comes last; empty if there is nothing to compare.
struct ShapeComparison {
  std::vector<DeclaredShape> parts;
  /// Nothing else tells what the names are.
  bool closed = false;
  bool empty() const { return parts.empty(); }
};

/// Whether the parameters of a function tell all dimension names in them to a check that looks at
/// tensors and tuples of them: none is in a data value, a reference or a function.
bool tells_names(const Function* function);

/// One value with a type.
ShapeComparison compare_value(Flows& flows, const FunctionScope& scope, const TypeRef& type,
                              std::string what, Span span);
/// The value of a let with the annotation of its variable, where it has another type.
ShapeComparison compare_let(Flows& flows, const FunctionScope& scope, const Let* let);
/// The result of the function, made by `value`, with the declared one, where it has another type.
ShapeComparison compare_result(Flows& flows, const FunctionScope& scope, const Expr* value);
/// What is written into a reference that holds values of another type.
ShapeComparison compare_written(Flows& flows, const FunctionScope& scope, const RefWrite* write);
/// What comes out of a reference or an unknown function, where such are used at two types.
ShapeComparison compare_open(Flows& flows, const FunctionScope& scope, const Expr* expr,
                             std::string what);
/// The arguments of a call, as far as the function does not look at them itself.
ShapeComparison compare_arguments(Flows& flows, const FunctionScope& scope, const Call* call);
/// Parameters have the shapes that they are declared with. A function that may be called as
/// anything looks at all of what it gets. `global` is the outermost function.
ShapeComparison compare_parameters(Flows& flows, const FunctionScope& scope, Name global);

}  // namespace relay
