// The comparisons of a run with the shapes that a program declares (T14, T15), on every machine.
#pragma once

#include <string>
#include <vector>

#include <relay/infer/runtime/flows.h>

namespace relay {

/// A value that must have the shapes of a type.
struct DeclaredShape {
  TypeRef type;
  std::string what;  // "the result of @f"
  Span span;
  bool inside = false;  // also of tensors in data values and references, which are walked
  /// The parameter whose value it is, of the function or of one around it; else, if not 0, the
  /// operand of the call.
  const Var* param = nullptr;
  size_t operand = 0;
};

/// A function, in those around it.
struct FunctionScope {
  const Function* function = nullptr;
  std::string name;
  const FunctionScope* outer = nullptr;
};

/// Values that are compared at once: a dimension name has one value in all of it. The parameters
/// that determine the names come first, the values in question last. Empty if there is nothing to
/// compare.
struct ShapeComparison {
  std::vector<DeclaredShape> parts;
  /// True if nothing else determines the names.
  bool closed = false;
  bool empty() const { return parts.empty(); }
};

/// True if the parameters of a function determine all dimension names in them for a check that
/// looks at tensors and tuples of them: no name is in a data value, a reference or a function.
bool tells_names(const Function* function);

/// Compares one value with a type.
ShapeComparison compare_value(Flows& flows, const FunctionScope& scope, const TypeRef& type,
                              std::string what, Span span);
/// Compares the value of a let with the annotation of its variable, if the types differ.
ShapeComparison compare_let(Flows& flows, const FunctionScope& scope, const Let* let);
/// Compares the result of the function, made by `value`, with the declared one, if the types
/// differ.
ShapeComparison compare_result(Flows& flows, const FunctionScope& scope, const Expr* value);
/// Compares the value written into a reference that holds values of another type.
ShapeComparison compare_written(Flows& flows, const FunctionScope& scope, const RefWrite* write);
/// Compares the value out of a reference or an unknown function, if such are used at two types.
ShapeComparison compare_open(Flows& flows, const FunctionScope& scope, const Expr* expr,
                             std::string what);
/// Compares the arguments of a call that the function does not check itself.
ShapeComparison compare_arguments(Flows& flows, const FunctionScope& scope, const Call* call);
/// Compares parameters with their declared shapes. A function that may be called as anything checks
/// all of its arguments. `global` is the outermost function.
ShapeComparison compare_parameters(Flows& flows, const FunctionScope& scope, Name global);

}  // namespace relay
