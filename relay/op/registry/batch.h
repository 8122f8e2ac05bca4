// Operators on many lanes at once, derived from their definitions.
#pragma once

#include <string_view>

#include <relay/op/op.h>

namespace relay {

/// `vmap.NAME`, operator NAME for each lane. Each tensor among the inputs and the results has one
/// more axis, the first: one entry for each lane, or, of an input that all lanes share, an extent
/// of 1. The attributes are those of NAME, and say nothing of the new axis.
///
/// The definition of NAME must be a tensor expression, and the extents of a result may not depend
/// on values that differ from lane to lane.
inline constexpr std::string_view kBatchPrefix = "vmap.";
inline bool is_batch_name(const Name& name) { return name.view().starts_with(kBatchPrefix); }
/// The number of new axes that an operator may have.
inline constexpr size_t kMaxBatchDepth = 4;

/// Fills in the derived operator of `op`.
void derive_batch(const Operator& op, OpBuilder& derived);

}  // namespace relay
