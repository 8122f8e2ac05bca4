// Internal: finds maps all of whose points have the same values.
#pragma once

#include <span>

#include <relay/tensor_expr/program.h>

namespace relay::te {

/// True if no value of the map depends on the point, given the tensors that it reads: an element of
/// a uniform tensor is the same at every index. A failure then happens at every point or at none.
bool is_uniform(const Environment& env, const Map& map, std::span<const LoopAxis> axes);

/// The number of points of the map and of its folds to visit, each fold once for the axes that it
/// depends on.
double points_of(const Environment& env, const Map& map, std::span<const LoopAxis> axes);

}  // namespace relay::te
