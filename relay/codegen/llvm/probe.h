// Kernels of one mathematical function over an array, for the accuracy tests and benchmarks of
// docs/numerics.md.
#pragma once

#include <cstdint>
#include <variant>

#include <relay/codegen/codegen.h>
#include <relay/runtime/kernel.h>
#include <relay/tensor_expr/scalar.h>

namespace relay::codegen {

struct Probe {
  /// A function of one or two arguments, or a conversion.
  enum class Convert : uint8_t { kHalfToFloat, kFloatToHalf, kBFloat16ToFloat, kFloatToBFloat16 };
  std::variant<te::UnaryOp, te::BinaryOp, Convert> function;
  bool wide = false;  // double instead of float
  /// Lanes of a vector; 0 for a scalar.
  unsigned lanes = 0;
};

/// A kernel that computes buffers[last][i] for i < dims[0] (a multiple of the lanes) from the other
/// buffers. Predicates give floats, 0 or 1.
KernelBlob probe_kernel(const Probe& probe, const Target& target);

}  // namespace relay::codegen
