// Turns a module into a program that can run: picks the function, the types and the constants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <relay/ir/module.h>
#include <relay/runtime/value.h>
#include <relay/support/diagnostic.h>

namespace relay {

/// Checks a module from outside as far as running any of it needs: its form (which modules built by
/// hand may lack) and its types. Publishes types. Throws `Error`; warnings go to `warnings` if
/// given.
void require_typed(Module& module, std::vector<Diagnostic>* warnings = nullptr);

/// The function with a name (without its sigil); for an empty name @main, else the only one. Throws
/// `Error` with the nearest names.
const Module::FunctionEntry& find_entry(const Module& module, const std::string& name);

/// The position of the parameter with a name. Throws `Error` if there is none, with the nearest
/// names, or if several have it.
size_t find_parameter(const Function& function, Name entry, const std::string& name);

/// Makes a program from a typed module in which only the values of its arguments are open: the
/// function is specialised and typed. `values` has one for each parameter, empty if it is not known
/// yet: such a parameter has its declared type, unless other values decide the names of its
/// dimensions. Those marked in `constants` become constants of the program, which has the other
/// parameters in their order. Throws `Error`.
Module close_program(Module module, Name entry, std::span<const Value> values,
                     const std::vector<bool>& constants);

}  // namespace relay
