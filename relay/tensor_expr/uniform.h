// Maps all of whose points have the same values. Internal.
#pragma once

#include <span>

#include <relay/tensor_expr/program.h>

namespace relay::te {

/// Whether no value of the map depends on the point, given the tensors that it reads: an element of
/// a uniform tensor is the same at every index. What may fail does so at every point or at none.
bool is_uniform(const Environment& env, const Map& map, std::span<const LoopAxis> axes);

/// The points of the map and of the folds in it that have to be visited, each fold once for the
/// axes that it depends on.
double points_of(const Environment& env, const Map& map, std::span<const LoopAxis> axes);

}  // namespace relay::te
