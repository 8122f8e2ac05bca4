// Arithmetic on sizes.
#pragma once

#include <cstdint>

#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// out ← a `code` b, for the codes that combine slots. Null, or what is wrong.
const char* compute_dim(DimCode code, int64_t a, int64_t b, int64_t& out);
/// Whether that is what is wrong.
bool is_division_by_zero(const char* wrong);

}  // namespace relay::vm
