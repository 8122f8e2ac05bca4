// Sizes computed by integer code.
#pragma once

#include <cstdint>

namespace relay {

/// Straight-line code over int64. Instruction i writes slot i and reads only slots before it.
enum class DimCode : uint8_t {
  kConst,    // value
  kExtent,   // extent b of input a
  kElement,  // element b (row-major) of the integer input a; fails if there is none
  kSymbol,   // only in checks: the extent that symbol a stands for
  kAdd,      // the rest: slots a and b. Overflow and division by zero fail
  kSub,
  kMul,
  kFloorDiv,
  kFloorMod,
  kCeilDiv,
  kMin,
  kMax,
  kBroadcast,  // equal, or the other one if one is 1; else fails
  kCount
};
struct DimInstruction {
  DimCode code = DimCode::kConst;
  uint32_t a = 0;
  uint32_t b = 0;
  int64_t value = 0;
  friend bool operator==(const DimInstruction&, const DimInstruction&) = default;
};

/// out ← a `code` b, for the codes that combine slots. Returns null, or the failure.
const char* compute_dim(DimCode code, int64_t a, int64_t b, int64_t& out);
/// True if the failure is a division by zero.
bool is_division_by_zero(const char* wrong);

}  // namespace relay
