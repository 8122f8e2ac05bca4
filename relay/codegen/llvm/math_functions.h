// The functions that math.cpp chooses from, one file for each family.
#pragma once

#include <relay/codegen/llvm/math_ops.h>

namespace relay::codegen::math {

// math_round.cpp
V round_half_away(V x);
V fmod(V x, V y);
V floor_mod(V x, V y);
V floor_div(V x, V y);
V min_or_nan(V x, V y);
V max_or_nan(V x, V y);

}  // namespace relay::codegen::math
