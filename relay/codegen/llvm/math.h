// Mathematical functions as LLVM IR over scalars and vectors (docs/numerics.md).
#pragma once

#include <relay/codegen/codegen.h>

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace relay::codegen {

// All of these take float or double, as a scalar or a fixed vector of any length. They emit no call
// of a library and leave the builder in the block where it stands. They ignore fast-math flags of
// the builder. `functions` is KernelArgs::functions, through which rare arguments, and functions
// without a vector form, call lane by lane.

/// The result has the type of `x`; for kIsNan, kIsInf and kIsFinite i1 (a vector of i1). Handles
/// kNeg, but not kNot and kBitNot.
llvm::Value* emit_unary_math(llvm::IRBuilderBase& b, te::UnaryOp op, llvm::Value* x,
                             const Target& target, llvm::Value* functions);

/// kMod (fmod), kFloorDiv, kFloorMod, kPow, kMin, kMax (not a number if either is), kAtan2.
llvm::Value* emit_binary_math(llvm::IRBuilderBase& b, te::BinaryOp op, llvm::Value* x,
                              llvm::Value* y, const Target& target, llvm::Value* functions);

// 16-bit floats live in registers as float, in memory as i16. Rounding is to nearest, ties to even,
// from float or double (without rounding twice); denormals, infinities and not-a-numbers as IEEE.
llvm::Value* emit_half_to_float(llvm::IRBuilderBase& b, llvm::Value* bits, const Target& target);
llvm::Value* emit_float_to_half(llvm::IRBuilderBase& b, llvm::Value* x, const Target& target);
llvm::Value* emit_bfloat16_to_float(llvm::IRBuilderBase& b, llvm::Value* bits);
llvm::Value* emit_float_to_bfloat16(llvm::IRBuilderBase& b, llvm::Value* x);

}  // namespace relay::codegen
