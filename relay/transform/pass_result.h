// What a pass made of a module: whether anything changed, whether it is a program still.
#pragma once

#include <relay/transform/pass_context.h>

namespace relay {

/// Whether two modules have the same functions under the same names, node for node, and the same
/// data types: what a pass that changed nothing gives.
bool same_functions(const Module& a, const Module& b);

/// Throws InternalError that names the pass if its result is ill-formed, or with `types` ill-typed.
/// Where the module that it was given was that already, it is not to blame: then an `Error` says
/// what was wrong with that.
void check_pass_result(const Module& before, const Module& after, const PassInfo& info, bool types);

}  // namespace relay
