// Accuracy of the generated functions: a sample of all floats and the difficult ones, for each
// instruction set that this machine runs. benchmarks/numerics.cpp takes all floats.
#include <gtest/gtest.h>
#include <relay/codegen/llvm/probe.h>
#include <relay/runtime/dtype.h>
#include <tests/unit/codegen_math_check.h>

#include <random>

namespace relay::codegen::codegen_math_test {
namespace {

using te::BinaryOp;
using te::UnaryOp;

std::vector<Target> targets() {
  std::vector<Target> result;
  for (const char* name : {"baseline", "avx2", "avx512", "aarch64"}) {
    const Target target = Target::parse(name);
    if (target.runs_here()) result.push_back(target);
  }
  return result;
}

unsigned lanes_of(const Target& target, bool wide) {
  return static_cast<unsigned>(target.vector_bytes() / (wide ? 8 : 4));
}

struct Loaded {
  std::shared_ptr<const CodeMemory> code;
  KernelFn function() const { return code->kernel(0); }
};

Loaded load(const Probe& probe, const Target& target) {
  const KernelBlob blob = probe_kernel(probe, target);
  const KernelBlob* blobs[] = {&blob};
  return {CodeMemory::map(blobs)};
}

template <class... T>
void run(const Loaded& kernel, size_t size, T*... arrays) {
  void* buffers[] = {const_cast<void*>(static_cast<const void*>(arrays))...};
  auto n = static_cast<int64_t>(size);
  FailureDetail detail;
  ShareOfTasks tasks;
  const KernelArgs args{buffers, &n, &tasks, nullptr, kernel_functions(), &detail};
  ASSERT_EQ(kernel.function()(&args), 0);
}

const std::vector<float>& difficult() {
  static const std::vector<float> values = [] {
    std::vector<float> v;
    const float inf = std::numeric_limits<float>::infinity();
    for (float x :
         {0.0f,           1.0f,        2.0f,       0.5f,        1.5f,          2.5f,
          0.49999997f,    0.50000006f, 3.0f,       10.0f,       88.72283f,     88.72284f,
          88.0f,          89.0f,       87.33654f,  87.33655f,   103.0f,        103.97208f,
          103.97209f,     104.0f,      150.0f,     1e-45f,      1e-40f,        1.17549435e-38f,
          1.1754942e-38f, 1e-30f,      1e-10f,     1e30f,       3.4028235e38f, inf,
          9.0f,           9.04f,       9.01f,      3.92f,       3.83f,         0.99999994f,
          1.0000001f,     8388607.5f,  8388608.0f, 16777216.0f, 1e10f,         2147483648.0f,
          9.2233720e18f,  1.5707964f,  3.1415927f, 0.78539819f, 5.3717217e36f, 6.2831855f}) {
      v.push_back(x);
      v.push_back(-x);
    }
    v.push_back(std::numeric_limits<float>::quiet_NaN());
    for (int i = 1; i < 2000; ++i) v.push_back(static_cast<float>(i) * 1.5707964f);
    while (v.size() % 16 != 0) v.push_back(0.25f);
    return v;
  }();
  return values;
}

constexpr double kBound = 4;  // units of the last place

TEST(CodegenMath, UnaryFunctionsOfFloat) {
  constexpr uint64_t kStride = 4051;
  std::vector<float> in = difficult();
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += kStride) {
    in.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  while (in.size() % 16 != 0) in.push_back(1);
  std::vector<double> expected(in.size());
  std::vector<float> out;
  for (size_t number = 0; number < kNumUnaryOps; ++number) {
    const auto op = static_cast<UnaryOp>(number);
    if (scalar_op(op).floats.is == ScalarForm::Is::kNothing) continue;
    for (size_t i = 0; i < in.size(); ++i) expected[i] = reference_of(op, in[i]);
    for (const Target& target : targets()) {
      const Loaded kernel = load({op, false, lanes_of(target, false)}, target);
      const WorstError worst = check_unary(kernel.function(), in, expected, out);
      EXPECT_LE(worst.ulp, is_exact(op) ? 0.5 : kBound)
          << te::unary_name(op) << " " << target.name() << " at " << worst.at << ": " << worst.got;
    }
  }
}

// Vectors of other widths, halves and multiples of a register, and scalars: the same numbers.
TEST(CodegenMath, WidthsAgree) {
  const std::vector<float>& in = difficult();
  std::vector<float> expected(in.size()), out(in.size());
  for (const Target& target : targets()) {
    for (UnaryOp op : {UnaryOp::kExp, UnaryOp::kTanh, UnaryOp::kSigmoid, UnaryOp::kErf,
                       UnaryOp::kSin, UnaryOp::kLog, UnaryOp::kAcosh, UnaryOp::kRound}) {
      run(load({op, false, lanes_of(target, false)}, target), in.size(), in.data(),
          expected.data());
      for (unsigned lanes : {0u, 2u, 3u, 4u, 8u, 16u, 24u, 32u}) {
        const size_t size = in.size() - in.size() % std::max(lanes, 1u);
        run(load({op, false, lanes}, target), size, in.data(), out.data());
        for (size_t i = 0; i < size; ++i) {
          if (std::isnan(expected[i])) {
            ASSERT_TRUE(std::isnan(out[i]));
          } else {
            // erf: the quick reciprocal exists for vectors only.
            ASSERT_LE(error_in_ulp(out[i], expected[i]), op == UnaryOp::kErf ? 2 : 0)
                << te::unary_name(op) << " " << target.name() << " " << lanes << " at " << in[i];
          }
        }
      }
    }
  }
}

double binary_reference(BinaryOp op, double x, double y) {
  switch (op) {
    case BinaryOp::kMod:
      return std::fmod(x, y);
    case BinaryOp::kPow:
      return std::pow(x, y);
    case BinaryOp::kAtan2:
      return std::atan2(x, y);
    case BinaryOp::kMin:
      return std::isnan(x) || x < y ? x : y;
    case BinaryOp::kMax:
      return std::isnan(x) || x > y ? x : y;
    default:
      return 0;
  }
}

TEST(CodegenMath, BinaryFunctionsOfFloat) {
  std::vector<float> x, y;
  const std::vector<float> edge(difficult().begin(), difficult().begin() + 110);
  for (float a : edge) {
    for (float b : edge) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 400000; ++i) {
    auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
    auto near = [&] {
      return static_cast<float>(static_cast<int>(random() % 20001) - 10000) / 512;
    };
    x.push_back(i % 3 == 0 ? any() : near());
    y.push_back(i % 2 == 0 ? any() : near());
  }
  while (x.size() % 16 != 0) x.push_back(1), y.push_back(1);
  std::vector<float> out(x.size());
  for (BinaryOp op :
       {BinaryOp::kMod, BinaryOp::kPow, BinaryOp::kAtan2, BinaryOp::kMin, BinaryOp::kMax}) {
    for (const Target& target : targets()) {
      run(load({op, false, lanes_of(target, false)}, target), x.size(), x.data(), y.data(),
          out.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = error_in_ulp(out[i], binary_reference(op, x[i], y[i]));
        const bool exact = op == BinaryOp::kMod || op == BinaryOp::kMin || op == BinaryOp::kMax;
        ASSERT_LE(error, exact ? 0 : kBound) << te::binary_name(op) << " " << target.name() << "("
                                             << x[i] << ", " << y[i] << ") = " << out[i];
      }
    }
  }
}

TEST(CodegenMath, FunctionsOfDouble) {
  std::vector<double> in;
  for (float x : difficult()) in.push_back(x);
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    in.push_back(i % 2 == 0 ? std::bit_cast<double>(random())
                            : static_cast<double>(static_cast<int64_t>(random())) * 0x1p-58);
  }
  std::vector<double> extra = {709.78,
                               709.79,
                               -745.13,
                               -745.14,
                               -708.5,
                               1e300,
                               5e-324,
                               1e-310,
                               4.5e15,
                               4503599627370497.5,
                               0.49999999999999994,
                               -0.49999999999999994};
  in.insert(in.end(), extra.begin(), extra.end());
  while (in.size() % 8 != 0) in.push_back(1);
  std::vector<double> out(in.size());
  for (size_t number = 0; number < kNumUnaryOps; ++number) {
    const auto op = static_cast<UnaryOp>(number);
    if (scalar_op(op).floats.is != ScalarForm::Is::kValue) continue;  // tests give bool
    for (const Target& target : targets()) {
      run(load({op, true, lanes_of(target, true)}, target), in.size(), in.data(), out.data());
      for (size_t i = 0; i < in.size(); ++i) {
        const double want = reference_of(op, in[i]);
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(out[i])) << te::unary_name(op) << " at " << in[i];
          continue;
        }
        ASSERT_EQ(std::signbit(out[i]), std::signbit(want))
            << te::unary_name(op) << " at " << in[i];
        if (out[i] == want) continue;
        ASSERT_FALSE(is_exact(op)) << te::unary_name(op) << " at " << in[i] << ": " << out[i];
        const auto distance = std::bit_cast<int64_t>(out[i]) - std::bit_cast<int64_t>(want);
        // The direct formula of sigmoid overflows where the true value is denormal.
        if (op == UnaryOp::kSigmoid && in[i] < -709) continue;
        ASSERT_LE(std::abs(distance), 4) << te::unary_name(op) << " " << target.name() << " at "
                                         << in[i] << ": " << out[i] << ", not " << want;
      }
    }
  }
}

TEST(CodegenMath, RemaindersOfDouble) {
  std::vector<double> x, y;
  std::mt19937_64 random(5);
  for (int i = 0; i < 100000; ++i) {
    x.push_back(i % 3 == 0 ? std::bit_cast<double>(random())
                           : static_cast<double>(static_cast<int64_t>(random() % 100000)) / 7);
    y.push_back(i % 4 == 0 ? std::bit_cast<double>(random())
                           : static_cast<double>(static_cast<int64_t>(random() % 1000) - 500) / 3);
  }
  std::vector<double> out(x.size());
  for (const Target& target : targets()) {
    run(load({BinaryOp::kMod, true, lanes_of(target, true)}, target), x.size(), x.data(), y.data(),
        out.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = std::fmod(x[i], y[i]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(out[i])) << x[i] << " % " << y[i];
      } else {
        ASSERT_EQ(std::bit_cast<uint64_t>(out[i]), std::bit_cast<uint64_t>(want))
            << x[i] << " % " << y[i] << " on " << target.name();
      }
    }
  }
}

TEST(CodegenMath, SixteenBitFloats) {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> floats(all.size());
  std::vector<float> in;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1021) {
    in.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (size_t i = 0; i < all.size(); ++i) {  // and around every one, and between two
    const float x = detail::half_to_float(all[i]);
    for (int d = -1; d <= 1; ++d) {
      in.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(x) + static_cast<uint32_t>(d)));
      in.push_back(
          std::bit_cast<float>((std::bit_cast<uint32_t>(x) | 0x1000u) + static_cast<uint32_t>(d)));
    }
  }
  while (in.size() % 16 != 0) in.push_back(1);
  std::vector<double> doubles(in.begin(), in.end());
  for (size_t i = 0; i < doubles.size(); i += 3) doubles[i] *= 1 + 0x1p-40;
  std::vector<uint16_t> out(in.size());
  for (const Target& target : targets()) {
    const unsigned lanes = lanes_of(target, false);
    run(load({Probe::Convert::kHalfToFloat, false, lanes}, target), all.size(), all.data(),
        floats.data());
    for (size_t i = 0; i < all.size(); ++i) {
      const float want = detail::half_to_float(all[i]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(floats[i]));
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(floats[i]), std::bit_cast<uint32_t>(want)) << i;
      }
    }
    run(load({Probe::Convert::kBFloat16ToFloat, false, lanes}, target), all.size(), all.data(),
        floats.data());
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(floats[i]), static_cast<uint32_t>(i) << 16);
    }
    for (bool half : {true, false}) {
      for (bool wide : {false, true}) {
        const auto convert = half ? Probe::Convert::kFloatToHalf : Probe::Convert::kFloatToBFloat16;
        const Loaded kernel = load({convert, wide, lanes}, target);
        if (wide) {
          run(kernel, in.size(), doubles.data(), out.data());
        } else {
          run(kernel, in.size(), in.data(), out.data());
        }
        for (size_t i = 0; i < in.size(); ++i) {
          const double x = wide ? doubles[i] : static_cast<double>(in[i]);
          const uint16_t want = wide   ? (half ? Half(x).bits : BFloat16(x).bits)
                                : half ? detail::half_from_float(in[i])
                                       : detail::bfloat_from_float(in[i]);
          if (std::isnan(x)) {
            ASSERT_GT(out[i] & 0x7fff, half ? 0x7c00 : 0x7f80);
          } else {
            ASSERT_EQ(out[i], want) << x << (half ? " half " : " bfloat16 ") << target.name();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace relay::codegen::codegen_math_test
