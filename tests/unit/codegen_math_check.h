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
  using te::UnaryOp;
  switch (op) {
    case UnaryOp::kExp:
      return std::exp(x);
    case UnaryOp::kLog:
      return std::log(x);
    case UnaryOp::kLog2:
      return std::log2(x);
    case UnaryOp::kLog10:
      return std::log10(x);
    case UnaryOp::kSqrt:
      return std::sqrt(x);
    case UnaryOp::kRsqrt:
      return 1.0 / std::sqrt(x);
    case UnaryOp::kErf:
      return std::erf(x);
    case UnaryOp::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case UnaryOp::kSin:
      return std::sin(x);
    case UnaryOp::kCos:
      return std::cos(x);
    case UnaryOp::kTan:
      return std::tan(x);
    case UnaryOp::kAsin:
      return std::asin(x);
    case UnaryOp::kAcos:
      return std::acos(x);
    case UnaryOp::kAtan:
      return std::atan(x);
    case UnaryOp::kSinh:
      return std::sinh(x);
    case UnaryOp::kCosh:
      return std::cosh(x);
    case UnaryOp::kTanh:
      return std::tanh(x);
    case UnaryOp::kAsinh:
      return std::asinh(x);
    case UnaryOp::kAcosh:
      return std::acosh(x);
    case UnaryOp::kAtanh:
      return std::atanh(x);
    case UnaryOp::kFloor:
      return std::floor(x);
    case UnaryOp::kCeil:
      return std::ceil(x);
    case UnaryOp::kRound:
      return std::round(x);
    case UnaryOp::kTrunc:
      return std::trunc(x);
    case UnaryOp::kNeg:
      return -x;
    case UnaryOp::kAbs:
      return std::fabs(x);
    case UnaryOp::kSign:
      return (x > 0) - (x < 0);
    case UnaryOp::kIsNan:
      return std::isnan(x) ? 1 : 0;
    case UnaryOp::kIsInf:
      return std::isinf(x) ? 1 : 0;
    case UnaryOp::kIsFinite:
      return std::isfinite(x) ? 1 : 0;
    case UnaryOp::kNot:
    case UnaryOp::kBitNot:
      break;
  }
  return 0;
}

/// Whether the result is to be exact.
inline bool is_exact(te::UnaryOp op) {
  using te::UnaryOp;
  return op == UnaryOp::kNeg || op == UnaryOp::kAbs || op == UnaryOp::kSign ||
         op == UnaryOp::kSqrt || op >= UnaryOp::kFloor;
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
  int64_t detail[2];
  const KernelArgs args{buffers, &size, 0, 1, nullptr, kernel_functions(), detail};
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
