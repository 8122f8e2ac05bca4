// Kernels run by a slow interpreter of loop nests, so that lowering is tested without code.
#pragma once

#include <span>
#include <vector>

#include <relay/lower/lower.h>
#include <relay/runtime/ndarray.h>

#include <tests/unit/lowered_run.h>

namespace relay::testing {

/// Runs a lowered group: places, launches (library kernels too) and results. Throws RuntimeError
/// where a kernel fails. `symbols` gives values to named dimensions.
std::vector<NDArray> interpret(const lower::Lowered& lowered, std::span<const NDArray> inputs,
                               const SymbolValues& symbols = {});

}  // namespace relay::testing
