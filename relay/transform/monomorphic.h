// Programs without type parameters.
#pragma once

#include <relay/ir/module.h>

namespace relay {

/// A specialised module (`specialize`) with a copy of each polymorphic function for each type that
/// it is called at, so that every function that the entry reaches has a closed type; others are
/// gone. Throws `Error` where a function needs itself at ever new types.
Module monomorphic(Module module, const Name& entry);

/// The module, typed, with polymorphic functions that lets bind in the place of their uses, and one
/// type for each that is called, or given to a function, where it is written. Those that call
/// themselves stay. Throws `Error` if the copies have more than a million nodes.
Module without_polymorphic_lets(Module module);

}  // namespace relay
