// Computations of many lanes at once.
#pragma once

#include <relay/support/error.h>
#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// The reason why a computation cannot run on many lanes at once.
class NoBatch : public Error {
 public:
  using Error::Error;
};

/// The lanes that `batched` takes one by one, where a library kernel has none of its own.
inline constexpr int64_t kMaxUnrolledLanes = 64;

/// The computation for `lanes` lanes: every input and every output gets a leading axis, and lane l
/// of the outputs is what `one` makes of lane l of the inputs. `extents` gives the leading extent
/// of each input: `lanes`, or 1 for an input that all lanes share. A stage that reads nothing but
/// shared inputs runs once.
///
/// A library kernel runs once for each lane; it throws NoBatch if there are more than
/// `kMaxUnrolledLanes` of them, if their number is not known, or if it counts its results.
Computation batched(const Computation& one, Dim lanes, const std::vector<Dim>& extents);

}  // namespace relay::te
