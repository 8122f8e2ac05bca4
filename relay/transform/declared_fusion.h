// What is said of an operator's fusion beside what it computes: a column that FuseOps reads.
#pragma once

#include <optional>

#include <relay/op/op.h>
#include <relay/tensor_expr/analysis.h>

namespace relay {

/// How the calls of an operator may be joined with others, for whoever knows more than what it
/// computes shows (a library kernel), or wants less joined. Nothing: as derived.
OpColumn<std::optional<te::FusionKind>>& declared_fusion();

}  // namespace relay
