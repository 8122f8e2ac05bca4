// Text to IR (language.md §1).
//
// Implicit parts of the text have these forms in the IR:
//   - `fn(..) where R` without arguments: a RelationType without arguments; it means
//     R(parameters.., result) (T10).
//   - A dimension name of a parameter or result type: an implicit TypeVar of kind ShapeVar. The
//     outermost function that mentions it there has it among its type parameters, after the others
//     (T13). One that only a let annotation mentions is a flexible TypeVar that no function lists.
//   - `Nat` and `Nat[]`: a TypeCall without arguments. `Z` and `Z()`: a call without arguments.
//   - `e1; e2`: a let of a variable named `_`.
//   - `let (%a, %b) = e`: a let of a variable `_` and one let for each projection.
//   - `%n = e` with an effectful e: a let of a variable named `n` (E4).
//   - Free variables of an input expression (`free_var`): parameters of `@main`.
//   - `%x {virtual_device=d}`: an `on_device` of each use of a parameter, of the value of a let,
//     and (among the attributes of a function) of its result (language.md §7, D10).
//   - Types in comments are skipped.
#pragma once

#include <memory>
#include <string>

#include <relay/ir/module.h>
#include <relay/parse/marks.h>
#include <relay/support/diagnostic.h>

namespace relay {

/// Scope nesting (parentheses, blocks, types, patterns) allowed in program text.
inline constexpr int kMaxParseDepth = 1000;

/// The result of parsing: the module as far as it could be read, and all mistakes. A bare
/// expression or a trailing one becomes `@main`; a bare `fn` becomes `@main` itself.
struct ParseResult {
  Module module;
  std::vector<Diagnostic> diagnostics;  // errors and warnings
  /// All errors are in attributes: the module is complete, with values of unknown type for those
  /// calls, so that its types can be checked as well.
  bool only_attributes = false;
  bool ok() const;
};

/// Parses a whole program. Never throws for bad text. `name` is shown in diagnostics. The result
/// also has the definitions of `base`, which the text may use; with `keep_known`, it may define
/// them again, and those of `base` stay. `marks` gets the places that only the parser knows.
ParseResult parse_text(std::string name, std::string text);
ParseResult parse_source(std::shared_ptr<const Source> source, Module base = {},
                         bool keep_known = false, SyntaxMarks* marks = nullptr);

/// Parses; throws `Error` with all diagnostics if there is any error.
Module parse_module(std::string name, std::string text, Module base = {});
/// One expression without definitions; throws `Error`.
ExprRef parse_expr(std::string text);
/// One type, e.g. "Tensor[(2, 3), float32]"; throws `Error`.
TypeRef parse_type(std::string text);

}  // namespace relay
