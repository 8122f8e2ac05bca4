// Compiles groups of nothing but numbers to instructions.
#pragma once

#include <span>
#include <vector>

#include <relay/tensor_expr/computation.h>
#include <relay/vm/compiler/code.h>
#include <relay/vm/compiler/program.h>

namespace relay::vm {

/// Writes the computation of rank-0 tensors. `inputs` are registers, kNone for those that are not
/// read; `positions` those of the operators, by origin. Returns a register for each output.
std::vector<uint32_t> write_numbers(const te::Computation& computation,
                                    std::span<const uint32_t> inputs,
                                    std::span<const uint32_t> positions, ProgramBuilder& program,
                                    CodeWriter& code);

/// True if the computation is small enough for instructions.
bool fits_numbers(const te::Computation& computation);

}  // namespace relay::vm
