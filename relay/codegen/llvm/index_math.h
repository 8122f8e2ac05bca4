// Integer arithmetic of indices that omits operations with known zeros and ones.
#pragma once

#include <optional>

#include <relay/codegen/llvm/scalar_emitter.h>

namespace relay::codegen {

std::optional<int64_t> constant_of(const llvm::Value* value);
inline bool is_constant(const llvm::Value* value, int64_t expected) {
  return constant_of(value) == expected;
}

/// Works on int64 values that are uniform or linear.
class IndexMath {
 public:
  explicit IndexMath(KernelFrame& frame) : b(frame.b) {}
  llvm::Value* add(llvm::Value* x, llvm::Value* y);
  llvm::Value* subtract(llvm::Value* x, llvm::Value* y);
  llvm::Value* multiply(llvm::Value* x, llvm::Value* y);
  LaneValue add(LaneValue x, LaneValue y);
  LaneValue subtract(LaneValue x, LaneValue y);
  LaneValue scale(LaneValue x, llvm::Value* factor);
  /// Uniform if the step is 0.
  LaneValue linear(llvm::Value* base, llvm::Value* step);

 private:
  llvm::IRBuilder<>& b;
};

/// The numbers 0, 1, … of lanes, in integers wide enough for a vector register.
class LaneNumbers {
 public:
  LaneNumbers(KernelFrame& frame, unsigned lanes);
  llvm::Value* lanes() const;
  /// Brings an i64 into [low, lanes], narrow.
  llvm::Value* clamp(llvm::Value* value, int64_t low) const;
  llvm::Value* splat(llvm::Value* narrow) const;
  /// Lanes l with 0 <= base + l < extent (i64 each; base may be anything).
  llvm::Value* inside(llvm::Value* base, llvm::Value* extent) const;
  llvm::Value* below(llvm::Value* end) const;

 private:
  llvm::IRBuilder<>& b;
  unsigned count_;
  llvm::IntegerType* type_;
};

/// x to the power of y, wrapping; a negative exponent gives the truncated quotient.
llvm::Value* integer_pow(KernelFrame& frame, ScalarEmitter& emitter, bool is_signed, llvm::Value* x,
                         llvm::Value* y);

}  // namespace relay::codegen
