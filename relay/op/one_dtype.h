// Inputs that have one dtype.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/op/op.h>

namespace relay {

constexpr uint32_t kOutput = UINT32_MAX;

/// The inputs of an operator that have one dtype in every use of it, the fields of tuples among
/// them, and last kOutput if the result has it too: what T3 knows of an operator whose relation has no form of its own, so that numbers among
/// these inputs take the dtype of the others (T4).
OpColumn<std::vector<uint32_t>>& one_dtype();

}  // namespace relay
