// The functions of math.cpp, one file for each family.
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

// math_exp.cpp
V exp(V x);
V log(V x);
V log2(V x);
V log10(V x);
V sigmoid(V x);
V tanh(V x);
V erf(V x);
V pow(V x, V y);
V sinh(V x);
V cosh(V x);
V asinh(V x);
V acosh(V x);
V atanh(V x);

// math_trig.cpp
V sin(V x);
V cos(V x);
V tan(V x);
V asin(V x);
V acos(V x);
V atan(V x);
V atan2(V y, V x);

}  // namespace relay::codegen::math
