// Questions of passes about the lets of a function, and removal of lets.
#pragma once

#include <relay/program/lets.h>
#include <relay/program/program.h>

namespace relay {

/// Lets whose variable nobody needs, if their values have no effect and are of the stated type
/// (`unneeded_lets`). Without effects none acts.
PointerSet<Let> dead_lets(const View& view, const NodeEffects* effects);

/// The function without these lets, in a program without effects.
FunctionRef without_dead_lets(const FunctionRef& function);

/// True if the variable is used at several types: each use instantiates its scheme.
bool is_polymorphic(const Var* var);

/// True if a run has to compare the value with the type that the let states (E5). Types nest no
/// deeper than `Type::kMaxDepth`.
bool may_refuse(const Let* let);

/// True if the let's value may replace its variable without changing a type: no annotation
/// converts.
bool keeps_type(const Let* let);

/// The function without these lets: the value replaces each use of the variable, as one node for
/// all uses.
FunctionRef without_lets(const FunctionRef& function, const PointerSet<Let>& removed);

}  // namespace relay
