// Copies computations (relay/tensor_expr/stage_copier.h) under the name that lowering uses.
#pragma once

#include <relay/lower/scalars.h>
#include <relay/tensor_expr/stage_copier.h>

namespace relay::lower {

using te::StageCopier;

}  // namespace relay::lower
