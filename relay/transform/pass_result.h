// Checks the result of a pass: if anything changed, and if it is still a program.
#pragma once

#include <relay/transform/pass_context.h>

namespace relay {

/// True if two modules have the same functions under the same names, node for node, and the same
/// data types: the result of a pass that changed nothing.
bool same_functions(const Module& a, const Module& b);

/// Throws InternalError that names the pass if its result is ill-formed, or with `types` ill-typed.
/// If the module was ill-formed or ill-typed before, the pass is not to blame: then this throws an
/// `Error` about that module.
void check_pass_result(const Module& before, const Module& after, const PassInfo& info, bool types);

/// The errors that a pass brought in: those of the form of each function that it changed, and then,
/// with `types`, those of types if the module had none before.
std::vector<Diagnostic> result_errors(const Module& before, const Module& after, bool types);

}  // namespace relay
