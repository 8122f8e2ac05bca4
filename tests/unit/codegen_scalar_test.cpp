// Scalar expressions in vector loops: every operation on every dtype, against the direct evaluator.
#include <limits>

#include <gtest/gtest.h>

#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/kernel_testing.h>

namespace relay::testing::codegen_scalar_test {
namespace {

using lower::LoopKind;
using te::BinaryOp;
using te::Bounds;
using te::Builder;
using te::Computation;
using te::Indices;
using te::Scalar;
using te::Tensor;
using te::UnaryOp;

/// Numbers that are worth a test, and some between.
std::vector<double> numbers(DType dtype, bool nonzero) {
  std::vector<double> list{1, 2, 3, 5, 7, 100, 127, 128, 255, 256, 1000, 0.5, 1.5, 2.5, 0.25, 3.7};
  if (!nonzero) list.push_back(0);
  if (dtype.is_float()) {
    double inf = std::numeric_limits<double>::infinity();
    for (double x : {1e-3,    1e-8,       5e-8,    6e-5,         1e-20,        1e-40,        1e30,
                     65504.0, 65519.0,    65520.0, 2147483648.0, 2147483647.0, 4294967296.0, 9.3e18,
                     1.9e19,  16777217.0, inf,     0.49999997,   8388609.0,    1e15}) {
      list.push_back(x);
    }
    list.push_back(std::nan(""));
    if (!nonzero) list.push_back(-0.0);
  } else {
    for (double x : {32767.0, 65535.0, 2147483647.0, 4294967295.0, 16777217.0}) list.push_back(x);
  }
  size_t n = list.size();
  if (!dtype.is_unsigned() && !dtype.is_bool()) {
    for (size_t k = 0; k < n; ++k) list.push_back(-list[k]);
  }
  return list;
}

NDArray array_of(DType dtype, const std::vector<double>& values, int64_t n, size_t step) {
  NDArray array = NDArray::empty({n}, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) {
      double v = values[static_cast<size_t>(i) * step % values.size()];
      if constexpr (std::is_integral_v<T>) {
        // Wrapping, and the extremes.
        T x = static_cast<T>(static_cast<int64_t>(v));
        if (i % 11 == 3) x = std::numeric_limits<T>::max();
        if (i % 13 == 5) x = std::numeric_limits<T>::min();
        array.data<T>()[i] = x;
      } else {
        array.data<T>()[i] = convert_element<T>(v);
      }
    }
  });
  return array;
}

void without_zeros(NDArray& array) {
  dispatch(array.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < array.size(); ++i) {
        if (array.data<T>()[i] == 0) array.data<T>()[i] = T(3);
      }
    }
  });
}

/// Runs a computation on all targets and compares.
void check(const Computation& computation, const std::vector<NDArray>& inputs, double tolerance,
           const std::string& what, LoopKind first = LoopKind::kSerial, int workers = 1) {
  std::vector<NDArray> want = te::evaluate(computation, inputs);
  for (const codegen::Target& target : targets_here()) {
    for (LoopKind last : {LoopKind::kVector, LoopKind::kSerial}) {
      RunnableKernel kernel(nest_kernel(nest_of_map(computation, last, first)), target);
      std::vector<NDArray> outputs;
      std::vector<void*> buffers;
      for (const NDArray& input : inputs)
        buffers.push_back(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(input.raw())));
      for (const NDArray& array : want) {
        outputs.push_back(NDArray::zeros(array.shape(), array.dtype()));
        buffers.push_back(outputs.back().raw());
      }
      KernelResult result = kernel.run(buffers, {}, workers);
      EXPECT_EQ(result.code, 0) << result.message << ": " << what;
      for (size_t k = 0; k < want.size(); ++k) {
        expect_close(outputs[k], want[k], tolerance,
                     what + " on " + std::string(target.name()) +
                         (last == LoopKind::kVector ? " in vectors" : " one by one"));
      }
    }
  }
}

Computation map_one(DType a, int64_t n, const std::function<Scalar(Scalar)>& f) {
  Builder b({{{Dim(n)}, a}});
  Tensor x = b.input(0);
  b.output(b.map({Dim(n)}, [&](Indices i) { return f(x(i)); }));
  return b.finish();
}

Computation map_two(DType dtype, int64_t n, const std::function<Scalar(Scalar, Scalar)>& f) {
  Builder b({{{Dim(n)}, dtype}, {{Dim(n)}, dtype}});
  Tensor x = b.input(0), y = b.input(1);
  b.output(b.map({Dim(n)}, [&](Indices i) { return f(x(i), y(i)); }));
  return b.finish();
}

constexpr int64_t kMany = 203;

TEST(CodegenScalar, ArithmeticOnEveryType) {
  for (DType dtype : kAllDTypes) {
    std::vector<double> values = numbers(dtype, false);
    NDArray x = array_of(dtype, values, kMany, 1), y = array_of(dtype, values, kMany, 17);
    for (size_t i = 0; i < kNumBinaryOps; ++i) {
      const auto op = static_cast<BinaryOp>(i);
      ScalarForm::Is form = kBinaryOps[i].on(dtype).is;
      if (form == ScalarForm::Is::kNothing || form == ScalarForm::Is::kDivision) continue;
      Computation c = map_two(dtype, kMany, [&](Scalar a, Scalar d) { return binary(op, a, d); });
      int ulp = dtype.is_float() && kBinaryOps[i].cost == ScalarCost::kFunction ? 4 : 0;
      check(c, {x, y}, ulp, std::string(te::binary_name(op)) + " of " + std::string(dtype.name()));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CodegenScalar, IntegerDivision) {
  for (DType dtype : kAllDTypes) {
    if (!dtype.is_integer()) continue;
    std::vector<double> values = numbers(dtype, true);
    NDArray x = array_of(dtype, values, kMany, 1), y = array_of(dtype, values, kMany, 7);
    without_zeros(y);
    for (BinaryOp op : {BinaryOp::kDiv, BinaryOp::kMod, BinaryOp::kFloorDiv, BinaryOp::kFloorMod}) {
      std::string what = std::string(te::binary_name(op)) + " of " + std::string(dtype.name());
      check(map_two(dtype, kMany, [&](Scalar a, Scalar d) { return binary(op, a, d); }), {x, y}, 0,
            what);
      for (int64_t d : {1, 2, 3, 8, 100}) {
        check(
            map_one(dtype, kMany, [&](Scalar a) { return binary(op, a, te::constant(d, dtype)); }),
            {x}, 0, what + " by " + std::to_string(d));
      }
      if (!dtype.is_unsigned()) {
        check(
            map_one(dtype, kMany, [&](Scalar a) { return binary(op, a, te::constant(-1, dtype)); }),
            {x}, 0, what + " by -1");
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CodegenScalar, UnaryOnEveryType) {
  for (DType dtype : kAllDTypes) {
    NDArray x = array_of(dtype, numbers(dtype, false), kMany, 1);
    for (size_t i = 0; i < kNumUnaryOps; ++i) {
      const auto op = static_cast<UnaryOp>(i);
      if (kUnaryOps[i].on(dtype).is == ScalarForm::Is::kNothing) continue;
      bool exact = kUnaryOps[i].cost == ScalarCost::kStep || op == UnaryOp::kSqrt;
      check(map_one(dtype, kMany, [&](Scalar a) { return unary(op, a); }), {x}, exact ? 0 : 4,
            std::string(te::unary_name(op)) + " of " + std::string(dtype.name()));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CodegenScalar, ConversionsBetweenAllTypes) {
  for (DType from : kAllDTypes) {
    NDArray x = array_of(from, numbers(from, false), kMany, 1);
    for (DType to : kAllDTypes) {
      check(map_one(from, kMany, [&](Scalar a) { return cast(a, to); }), {x}, 0,
            std::string(from.name()) + " to " + std::string(to.name()));
      if (from.size() == to.size() && !from.is_bool() && !to.is_bool()) {
        check(map_one(from, kMany, [&](Scalar a) { return bitcast(a, to); }), {x}, 0,
              std::string(from.name()) + " as " + std::string(to.name()));
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CodegenScalar, Extents) {
  for (int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65}) {
    for (DType dtype : {kInt8, kFloat32, kFloat64, kFloat16}) {
      NDArray x = array_of(dtype, numbers(dtype, false), n, 1);
      check(map_one(dtype, n, [&](Scalar a) { return a + a; }), {x}, 0,
            "extent " + std::to_string(n));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CodegenScalar, LoadsOfAllKinds) {
  int64_t rows = 5, columns = 37;
  NDArray x =
      array_of(kFloat32, numbers(kFloat32, false), rows * columns, 1).reshape(Shape{rows, columns});
  NDArray bytes =
      array_of(kInt8, numbers(kInt8, false), rows * columns, 3).reshape(Shape{rows, columns});
  using At = std::function<std::vector<Scalar>(Indices)>;
  std::vector<std::pair<std::string, At>> places{
      {"same",
       [](Indices i) {
         return std::vector<Scalar>{i[0], i[1]};
       }},
      {"shifted",
       [](Indices i) {
         return std::vector<Scalar>{i[0] - 1, i[1] - 2};
       }},
      {"reversed",
       [&](Indices i) {
         return std::vector<Scalar>{i[0], te::index_constant(columns - 1) - i[1]};
       }},
      {"twice",
       [](Indices i) {
         return std::vector<Scalar>{i[0], i[1] * 2};
       }},
      {"thrice",
       [](Indices i) {
         return std::vector<Scalar>{i[0], i[1] * 3 - 4};
       }},
      {"halved",
       [](Indices i) {
         return std::vector<Scalar>{i[0], floor_div(i[1], te::index_constant(2))};
       }},
      {"modulo",
       [](Indices i) {
         return std::vector<Scalar>{i[0], floor_mod(i[1], te::index_constant(5))};
       }},
      {"broadcast",
       [](Indices i) {
         return std::vector<Scalar>{i[0], te::index_constant(3)};
       }},
      {"transposed",
       [](Indices i) {
         return std::vector<Scalar>{floor_mod(i[1], te::index_constant(5)), i[0] * 7};
       }},
      {"column",
       [](Indices i) {
         return std::vector<Scalar>{i[1] - 3, i[0]};
       }},
      {"far",
       [](Indices i) {
         return std::vector<Scalar>{i[0] * 100, i[1] * -50};
       }},
  };
  for (const NDArray& input : {x, bytes}) {
    for (const auto& [name, at] : places) {
      for (Bounds bounds : {Bounds::kClamp, Bounds::kWrap, Bounds::kFill}) {
        Builder b({{{Dim(rows), Dim(columns)}, input.dtype()}});
        Tensor t = b.input(0);
        b.output(b.map({Dim(rows), Dim(columns + 9)}, [&, &at = at](Indices i) {
          if (bounds == Bounds::kFill) {
            return t.load_or(at(i), te::constant(int64_t{7}, input.dtype()));
          }
          return t.load(at(i), bounds);
        }));
        check(b.finish(), {input}, 0, name + " with bounds " + std::to_string(int(bounds)));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(CodegenScalar, GatherAndSelects) {
  int64_t n = 45;
  NDArray x = array_of(kFloat32, numbers(kFloat32, false), n, 1);
  NDArray at = NDArray::empty({n}, kInt32);
  for (int64_t i = 0; i < n; ++i) at.data<int32_t>()[i] = static_cast<int32_t>(i * 29 % n) - 5;
  Builder b({{{Dim(n)}, kFloat32}, {{Dim(n)}, kInt32}});
  Tensor t = b.input(0), index = b.input(1);
  b.output(b.map({Dim(n)}, [&](Indices i) {
    Scalar k = cast(index(i), kInt64);
    Scalar place = select(k < 0, k + te::from_dim(Dim(n)), k);
    Scalar gathered = t.load({place}, Bounds::kFail);
    // Arms that may only be loaded where they are taken; a node of both arms; uniform conditions.
    Scalar shared = t.load({place}, Bounds::kFail) * 2.0;
    Scalar low = select(i[0] < 20, t.load({i[0] + 20}, Bounds::kFail) + shared,
                        t.load({i[0] - 20}, Bounds::kFail) - shared);
    return select(k > 3, gathered, low);
  }));
  check(b.finish(), {x, at}, 0, "gather");
}

TEST(CodegenScalar, WorkersShareRows) {
  for (int64_t rows : {0, 1, 2, 7}) {
    NDArray x = array_of(kFloat32, numbers(kFloat32, false), rows * 19, 1).reshape(Shape{rows, 19});
    Builder b({{{Dim(rows), Dim(19)}, kFloat32}});
    Tensor t = b.input(0);
    b.output(b.map({Dim(rows), Dim(19)}, [&](Indices i) { return t(i) * 3.0; }));
    Computation c = b.finish();
    for (int workers : {1, 2, 3, 8}) check(c, {x}, 0, "rows", LoopKind::kParallel, workers);
  }
}

}  // namespace
}  // namespace relay::testing::codegen_scalar_test
