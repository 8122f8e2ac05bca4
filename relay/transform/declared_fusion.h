// Declared facts about an operator's fusion beside its computation: a column that FuseOps reads.
#pragma once

#include <optional>

#include <relay/op/op.h>
#include <relay/tensor_expr/analysis.h>

namespace relay {

/// The way in which calls of an operator may be joined with others, for declarations that know more
/// than its computation shows (a library kernel), or want less joined. Nothing: derived.
OpColumn<std::optional<te::FusionKind>>& declared_fusion();

}  // namespace relay
