// Rewrites scalar expressions (relay/tensor_expr/rewrite.h) under the names that lowering uses.
#pragma once

#include <relay/tensor_expr/rewrite.h>

namespace relay::lower {

using te::can_fail;
using te::combine;
using te::combiner_identity;
using te::copy_node;
using te::moved_load;
using te::moved_loads;
using te::MovedTensor;
using te::new_node;
using te::num_accumulators;
using te::renumber_vars;
using te::rewrite_roots;
using te::ScalarRewriter;
using te::share_equal;
using te::substitute;
using te::with_args;

/// True if the operands of a combiner may change places.
bool is_commutative(const te::Combiner& combiner);

}  // namespace relay::lower
