// Accuracy of generated mathematics: what the unit test samples and benchmarks/numerics.cpp does
// for every float.
#pragma once

#include <relay/runtime/kernel.h>
#include <relay/tensor_expr/scalar.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace relay::codegen {

/// The function in double, as the direct evaluator computes it.
inline double reference_of(te::UnaryOp op, double x) {
  return arithmetic::with_unary<double, double>(
      op, [x](auto, auto f) { return static_cast<double>(f(x)); });
}

/// True if the result is to be exact.
inline bool is_exact(te::UnaryOp op) {
  return scalar_op(op).cost == ScalarCost::kStep || op == te::UnaryOp::kSqrt;
}

/// Distance from the exact value in units of the last place of float; infinite where the kind of
/// number or the sign of a zero is wrong.
inline double error_in_ulp(float got, double expected) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(expected) || std::isnan(got)) {
    return std::isnan(expected) && std::isnan(got) ? 0 : kWrong;
  }
  if (static_cast<double>(got) == expected && expected != 0) return 0;
  if (std::signbit(got) != std::signbit(expected)) return kWrong;
  if (expected == 0) return got == 0 ? 0 : kWrong;
  if (std::isinf(expected)) return kWrong;
  // Beyond the largest float, 2^128 stands for infinity.
  auto value = [](double x) { return std::min(std::fabs(x), 0x1p128); };
  const double want = value(expected);
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(std::min(want, 0x1.fffffep127)));
  const int exponent = std::max(static_cast<int>(bits >> 23), 1) - 127 - 23;
  return std::fabs(value(got) - want) / std::ldexp(1.0, exponent);
}

struct WorstError {
  double ulp = 0;
  float at = 0;
  float got = 0;
  void merge(const WorstError& other) {
    if (other.ulp > ulp) *this = other;
  }
};

/// Runs a kernel of one argument and compares.
inline WorstError check_unary(KernelFn kernel, const std::vector<float>& in,
                              const std::vector<double>& expected, std::vector<float>& out) {
  out.resize(in.size());
  void* buffers[] = {const_cast<float*>(in.data()), out.data()};
  auto size = static_cast<int64_t>(in.size());
  FailureDetail detail;
  ShareOfTasks tasks;
  const KernelArgs args{buffers, &size, &tasks, nullptr, kernel_functions(), &detail};
  kernel(&args);
  WorstError worst;
  for (size_t i = 0; i < in.size(); ++i) {
    if (static_cast<double>(out[i]) == expected[i] && out[i] != 0) continue;
    const double error = error_in_ulp(out[i], expected[i]);
    if (error > worst.ulp) worst = {error, in[i], out[i]};
  }
  return worst;
}

}  // namespace relay::codegen
