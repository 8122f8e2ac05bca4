// Computations that one kernel goes through row by row.
#pragma once

#include <relay/lower/processor.h>
#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// True if `lower` makes one kernel of a computation, which adds rows up and computes with the sums
/// while a row stays in the second cache, and all rows together do not: stages apart would each
/// read them from memory. Rows share few lines of the cache, in what they read and in what they
/// write: they are pieces whose elements lie side by side, as the planes of a channel.
bool runs_by_rows(const te::Computation& computation, const Processor& processor);

}  // namespace relay::lower
