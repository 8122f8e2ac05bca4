// Completeness of match, and clauses that can never run (Maranget's usefulness, 2007).
#pragma once

#include <relay/ir/module.h>
#include <relay/support/diagnostic.h>

namespace relay::inference {

/// Reports values that an incomplete match misses (unless it is a `match?`), and warns of clauses
/// that can never run.
void check_match(const Match& match, const Module& module, DiagnosticSink& sink);

}  // namespace relay::inference
