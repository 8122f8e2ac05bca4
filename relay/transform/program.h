// From a module to a program that can run: which function, for which types, with which constants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <relay/ir/module.h>
#include <relay/runtime/value.h>
#include <relay/support/diagnostic.h>

namespace relay {

/// Checks a module from outside as far as running any of it needs: form (which modules that are
/// built by hand may lack) and types. Types are published. Throws `Error`; warnings go to
/// `warnings` if given.
void require_typed(Module& module, std::vector<Diagnostic>* warnings = nullptr);

/// The function of a name (without its sigil); of none, @main or else the only one. Throws `Error`
/// with the nearest names.
const Module::FunctionEntry& find_entry(const Module& module, const std::string& name);

/// The position of the parameter of a name. Throws `Error` if there is none, with the nearest
/// names, or if several have it.
size_t find_parameter(const Function& function, Name entry, const std::string& name);

/// A program of which nothing is open but the values of its arguments, out of a typed module: the
/// function is specialised, and typed. `values` has one for each parameter, empty where there is
/// none yet: such a parameter is what its declaration says, where other values do not decide the
/// names of its dimensions. Those marked in `constants` become constants of the program, which has
/// the other parameters in their order. Throws `Error`.
Module close_program(Module module, Name entry, std::span<const Value> values,
                     const std::vector<bool>& constants);

}  // namespace relay
