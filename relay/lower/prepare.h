// Computations made ready for loops.
#pragma once

#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// The same results by stages that each deserve a kernel: Maps that are cheap to repeat or read
/// once stand in their users, elementwise work stands behind the folds it follows, views are index
/// arithmetic unless they are free, stages that nothing needs are gone.
te::Computation prepare(const te::Computation& computation);

/// Long folds of few results in two stages: blocks of a size that follows from the shape alone,
/// then the blocks' results.
te::Computation split_long_folds(const te::Computation& computation);

}  // namespace relay::lower
