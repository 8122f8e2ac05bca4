// Scalar expressions: construction, folding of index arithmetic, arithmetic of every dtype, text,
// verifier.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <relay/support/error.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::te::te_scalar_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

/// The value of an expression without inputs.
NDArray value_of(const Scalar& x) {
  Builder b(std::vector<TensorInfo>{});
  b.output(b.map({}, [&](Indices) { return x; }));
  return evaluate(b.finish(), {})[0];
}

int64_t integer(const Scalar& x) { return value_of(x).item_as_int64(); }
double real(const Scalar& x) { return value_of(x).item_as_double(); }

Scalar c(int64_t value, DType dtype) { return constant(value, dtype); }
Scalar f(double value, DType dtype = kFloat32) { return constant(value, dtype); }

TEST(TeScalar, IndexArithmeticFolds) {
  Scalar i = index_of({0, 10});
  EXPECT_EQ(to_string(*(i * 4 / 4).node()), "i0");
  EXPECT_EQ(to_string(*floor_div(i * 8, index_constant(4)).node()), "(i0 * 2)");
  EXPECT_EQ(to_string(*floor_mod(i * 8, index_constant(4)).node()), "0");
  EXPECT_EQ(to_string(*(i + 0).node()), "i0");
  EXPECT_EQ(to_string(*(i + 3 - 1).node()), "(i0 + 2)");
  EXPECT_EQ(to_string(*(2 * i * 3).node()), "(i0 * 6)");
  EXPECT_EQ(to_string(*(i * 0).node()), "0");
  EXPECT_EQ(to_string(*(index_constant(7) < 8).node()), "true");
  EXPECT_EQ(to_string(*(index_constant(1) / 0).node()), "(1 / 0)");
  EXPECT_EQ(to_string(*floor_div(index_constant(-7), index_constant(2)).node()), "-4");
  // Floats are left alone: x + 0 is not x for -0.
  EXPECT_EQ(to_string(*(f(1) + 0.0).node()), "(1f + 0f)");
}

TEST(TeScalar, DtypesMustAgree) {
  EXPECT_THROW(binary(BinaryOp::kAdd, c(1, kInt32), c(1, kInt64)), InternalError);
  EXPECT_THROW(select(c(1, kInt32), c(1, kInt32), c(1, kInt32)), InternalError);
  EXPECT_THROW(unary(UnaryOp::kExp, c(1, kInt32)), InternalError);
  EXPECT_THROW(binary(BinaryOp::kAnd, f(1), f(1)), InternalError);
  EXPECT_THROW(bitcast(c(1, kInt32), kFloat64), InternalError);
  EXPECT_THROW(c(1, kBool) - c(1, kBool), InternalError);
}

TEST(TeScalar, IntegersWrap) {
  for (DType t : {kInt8, kInt16, kInt32, kInt64}) {
    int64_t most = value_of(highest(t)).item_as_int64();
    int64_t least = value_of(lowest(t)).item_as_int64();
    EXPECT_EQ(integer(highest(t) + c(1, t)), least) << t.name();
    EXPECT_EQ(integer(lowest(t) - c(1, t)), most);
    EXPECT_EQ(integer(highest(t) * c(2, t)), -2);
    EXPECT_EQ(integer(-lowest(t)), least);
    EXPECT_EQ(integer(abs(lowest(t))), least);
    EXPECT_EQ(integer(lowest(t) / c(-1, t)), least);
    EXPECT_EQ(integer(mod(lowest(t), c(-1, t))), 0);
    EXPECT_EQ(integer(floor_div(lowest(t), c(-1, t))), least);
  }
  for (DType t : {kUInt8, kUInt16, kUInt32}) {
    EXPECT_EQ(integer(highest(t) + c(1, t)), 0);
    EXPECT_EQ(integer(highest(t) * highest(t)), 1);
    EXPECT_EQ(integer(-c(1, t)), integer(highest(t)));
  }
  EXPECT_EQ(integer(cast(highest(kUInt64) / c(2, kUInt64), kInt64)), INT64_MAX);
}

TEST(TeScalar, DivisionRules) {
  struct Case {
    int64_t a, b, div, mod, floor_div, floor_mod;
  };
  for (Case k : {Case{7, 2, 3, 1, 3, 1},
                 {-7, 2, -3, -1, -4, 1},
                 {7, -2, -3, 1, -4, -1},
                 {-7, -2, 3, -1, 3, -1},
                 {6, 3, 2, 0, 2, 0},
                 {-6, 3, -2, 0, -2, 0}}) {
    for (DType t : {kInt8, kInt32}) {
      EXPECT_EQ(integer(c(k.a, t) / c(k.b, t)), k.div);
      EXPECT_EQ(integer(mod(c(k.a, t), c(k.b, t))), k.mod);
      EXPECT_EQ(integer(floor_div(c(k.a, t), c(k.b, t))), k.floor_div);
      EXPECT_EQ(integer(floor_mod(c(k.a, t), c(k.b, t))), k.floor_mod);
    }
    double a = static_cast<double>(k.a), b = static_cast<double>(k.b);
    EXPECT_EQ(real(mod(f(a), f(b))), static_cast<double>(k.mod));
    EXPECT_EQ(real(floor_div(f(a), f(b))), static_cast<double>(k.floor_div));
    EXPECT_EQ(real(floor_mod(f(a), f(b))), static_cast<double>(k.floor_mod));
  }
  EXPECT_THROW(integer(c(1, kUInt8) / c(0, kUInt8)), RuntimeError);
  EXPECT_THROW(integer(floor_mod(c(1, kInt64), c(0, kInt64))), RuntimeError);
  EXPECT_EQ(real(f(1) / f(0)), kInf);
}

TEST(TeScalar, ShiftsAndBits) {
  auto op = [](BinaryOp o, Scalar a, Scalar b) { return integer(binary(o, a, b)); };
  EXPECT_EQ(op(BinaryOp::kShl, c(3, kInt8), c(6, kInt8)), -64);
  EXPECT_EQ(op(BinaryOp::kShl, c(1, kInt32), c(32, kInt32)), 0);
  EXPECT_EQ(op(BinaryOp::kShl, c(1, kInt32), c(-1, kInt32)), 0);
  EXPECT_EQ(op(BinaryOp::kShr, c(-8, kInt32), c(1, kInt32)), -4);
  EXPECT_EQ(op(BinaryOp::kShr, c(-8, kInt32), c(40, kInt32)), -1);
  EXPECT_EQ(op(BinaryOp::kShr, c(200, kUInt8), c(3, kUInt8)), 25);
  EXPECT_EQ(op(BinaryOp::kXor, c(6, kInt64), c(3, kInt64)), 5);
  EXPECT_EQ(integer(unary(UnaryOp::kBitNot, c(5, kUInt8))), 250);
  EXPECT_EQ(integer(unary(UnaryOp::kBitNot, c(1, kBool))), 0);
  EXPECT_EQ(integer(c(1, kBool) + c(1, kBool)), 1);
  EXPECT_EQ(integer(pow(c(-3, kInt32), c(3, kInt32))), -27);
  EXPECT_EQ(integer(pow(c(2, kInt32), c(-1, kInt32))), 0);
  EXPECT_EQ(integer(pow(c(-1, kInt32), c(-3, kInt32))), -1);
  EXPECT_EQ(integer(pow(c(3, kUInt8), c(6, kUInt8))), 729 % 256);
}

TEST(TeScalar, FloatsToIntegers) {
  EXPECT_EQ(integer(cast(f(-2.9), kInt32)), -2);
  for (float x : {kNan, kInf, -kInf, 3e9f, -3e9f})
    EXPECT_EQ(integer(cast(f(x), kInt32)), INT32_MIN);
  for (float x : {kNan, kInf, 1e19f}) EXPECT_EQ(integer(cast(f(x), kInt64)), INT64_MIN);
  EXPECT_EQ(integer(cast(f(300), kInt8)), 44);
  EXPECT_EQ(integer(cast(f(-1), kUInt8)), 255);
  EXPECT_EQ(integer(cast(f(4294967295.0, kFloat64), kUInt32)), 4294967295);
  EXPECT_EQ(integer(cast(f(2147483647.5, kFloat64), kInt32)), INT32_MAX);
  EXPECT_EQ(integer(cast(f(-2147483648.5, kFloat64), kInt32)), INT32_MIN);
  EXPECT_EQ(value_of(cast(f(1e19, kFloat64), kUInt64)).data<uint64_t>()[0], 10000000000000000000u);
  EXPECT_EQ(integer(cast(f(kNan), kBool)), 1);
  EXPECT_EQ(integer(cast(f(0.25), kBool)), 1);
  EXPECT_EQ(integer(cast(c(256, kInt32), kBool)), 1);
  EXPECT_EQ(integer(cast(c(300, kInt32), kInt8)), 44);
  EXPECT_EQ(integer(cast(c(-1, kInt8), kUInt16)), 65535);
  EXPECT_EQ(real(cast(c(1, kBool), kFloat16)), 1);
  EXPECT_EQ(real(cast(highest(kUInt64), kFloat64)), 18446744073709551616.0);
}

TEST(TeScalar, NarrowFloatsRoundAfterEachNode) {
  EXPECT_EQ(real(f(2048, kFloat16) + f(1, kFloat16)), 2048);
  EXPECT_EQ(real(f(2048, kFloat16) + f(3, kFloat16)), 2052);
  EXPECT_EQ(real(f(60000, kFloat16) * f(2, kFloat16)), kInf);
  EXPECT_EQ(real(f(256, kBFloat16) + f(1, kBFloat16)), 256);
  EXPECT_EQ(real(cast(c(1001, kInt32), kBFloat16)), 1000);
  EXPECT_NEAR(real(exp(f(1, kFloat16))), std::exp(1.0), 2e-3);
  EXPECT_EQ(integer(bitcast(f(1, kFloat16), kUInt16)), 0x3c00);
  EXPECT_EQ(real(bitcast(c(0x4000, kUInt16), kFloat16)), 2);
  EXPECT_EQ(real(bitcast(c(0x3f80, kInt16), kBFloat16)), 1);
  EXPECT_EQ(integer(bitcast(f(1), kInt32)), 0x3f800000);
  EXPECT_EQ(real(bitcast(c(0x4000000000000000, kInt64), kFloat64)), 2);
}

TEST(TeScalar, NotANumber) {
  EXPECT_TRUE(std::isnan(real(min(f(kNan), f(1)))));
  EXPECT_TRUE(std::isnan(real(min(f(1), f(kNan)))));
  EXPECT_TRUE(std::isnan(real(max(f(kNan), f(1)))));
  EXPECT_TRUE(std::isnan(real(max(f(1), f(kNan)))));
  EXPECT_EQ(integer(f(kNan) == f(kNan)), 0);
  EXPECT_EQ(integer(f(kNan) != f(kNan)), 1);
  EXPECT_EQ(integer(f(kNan) < f(1)), 0);
  EXPECT_EQ(real(unary(UnaryOp::kSign, f(kNan))), 0);
  EXPECT_EQ(integer(unary(UnaryOp::kIsNan, f(kNan))), 1);
  EXPECT_EQ(integer(unary(UnaryOp::kIsInf, f(-kInf))), 1);
  EXPECT_EQ(integer(unary(UnaryOp::kIsFinite, f(1))), 1);
  EXPECT_EQ(integer(unary(UnaryOp::kIsFinite, c(1, kInt8))), 1);
}

TEST(TeScalar, Rounding) {
  for (auto [x, want] : {std::pair{0.5, 1.0}, {1.5, 2.0}, {2.5, 3.0}, {-0.5, -1.0}, {-2.5, -3.0}}) {
    EXPECT_EQ(real(round(f(x))), want);
  }
  EXPECT_EQ(real(floor(f(-1.5))), -2);
  EXPECT_EQ(real(ceil(f(-1.5))), -1);
  EXPECT_EQ(real(unary(UnaryOp::kTrunc, f(-1.5))), -1);
  EXPECT_EQ(integer(floor(c(3, kInt16))), 3);
}

TEST(TeScalar, Mathematics) {
  using U = UnaryOp;
  double x = 0.3f;
  const std::pair<U, double> cases[] = {
      {U::kExp, std::exp(x)},    {U::kLog, std::log(x)},
      {U::kLog2, std::log2(x)},  {U::kLog10, std::log10(x)},
      {U::kSqrt, std::sqrt(x)},  {U::kRsqrt, 1 / std::sqrt(x)},
      {U::kErf, std::erf(x)},    {U::kSigmoid, 1 / (1 + std::exp(-x))},
      {U::kSin, std::sin(x)},    {U::kCos, std::cos(x)},
      {U::kTan, std::tan(x)},    {U::kAsin, std::asin(x)},
      {U::kAcos, std::acos(x)},  {U::kAtan, std::atan(x)},
      {U::kSinh, std::sinh(x)},  {U::kCosh, std::cosh(x)},
      {U::kTanh, std::tanh(x)},  {U::kAsinh, std::asinh(x)},
      {U::kAtanh, std::atanh(x)}};
  for (const auto& [op, want] : cases) {
    EXPECT_EQ(static_cast<float>(real(unary(op, f(x)))), static_cast<float>(want))
        << unary_name(op);
    EXPECT_DOUBLE_EQ(real(unary(op, f(x, kFloat64))), want) << unary_name(op);
  }
  EXPECT_DOUBLE_EQ(real(unary(U::kAcosh, f(2, kFloat64))), std::acosh(2.0));
  EXPECT_DOUBLE_EQ(real(binary(BinaryOp::kAtan2, f(1, kFloat64), f(-2, kFloat64))),
                   std::atan2(1, -2));
  EXPECT_EQ(real(pow(f(2), f(0.5))), static_cast<double>(std::sqrt(2.0f)));
}

TEST(TeScalar, DeepExpressionsAreFreed) {
  Scalar x = f(0);
  for (int i = 0; i < 1000000; ++i) x = x + f(1);
  Scalar copy = x;
  x = Scalar();
  EXPECT_EQ(copy.dtype(), kFloat32);
}

TEST(TeText, Computations) {
  Builder b({{{2, 3}, kFloat32}, {{2}, kInt64}});
  Tensor sums = b.map({2}, [&](Indices i) {
    return b.sum({3}, [&](Indices k) { return b.input(0)({i[0], k[0]}); });
  });
  b.output(b.map({2, 3}, [&](Indices i) {
    Scalar shifted = b.input(0).load_or({i[0] - 1, i[1]}, constant(0.5, kFloat32));
    Scalar picked = b.input(0).load({b.input(1)({i[0]}), i[1]}, Bounds::kClamp);
    return select(shifted < picked, exp(shifted), shifted * sums({i[0]}));
  }));
  b.output(b.update(
      b.input(0), {2},
      [&](Indices i) -> std::vector<Scalar> {
        return {i[0], i[0]};
      },
      [](Indices) { return constant(1.0, kFloat32); }, Builder::UpdateOp::kSum));
  b.output(b.scan(
      {2, 3}, 1, [](Indices) -> std::vector<Scalar> { return {constant(0.0, kFloat32)}; },
      [&](Indices i, std::span<const Scalar> c) -> std::vector<Scalar> {
        return {c[0] + b.input(0)(i)};
      },
      true)[0]);
  b.output(b.reshape(b.input(0), {6}));
  b.output(b.map({}, [&](Indices) {
    return b.fold(
        {3},
        [](Indices k) -> std::vector<Scalar> {
          return {k[0], k[0] * 2};
        },
        [](auto l, auto r) -> std::vector<Scalar> {
          return {max(l[0], r[0]), l[1] + r[1]};
        },
        {index_constant(0), index_constant(1)}, {.needs_element = true, .commutes = true})[1];
  }));
  EXPECT_EQ(
      b.finish().str(),
      "in0: float32[2, 3]\n"
      "in1: int64[2]\n"
      "s0: float32[2] = map(i0 < 2) sum(i1 < 3: in0[i0, i1])\n"
      "s1: float32[2, 3] = map(i2 < 2, i3 < 3) select((t0 < in0[in1[i2], i3; clamp]), exp(t0), "
      "(t0 * s0[i2])) where t0 = in0[(i2 - 1), i3; else 0.5f]\n"
      "s2: float32[2, 3] = update(i4 < 2) in0[i4, i4] sum 1f\n"
      "s3: float32[2, 3] = scan(i5 < 2, i6 < 3; along i6 reverse) v0 from 0f step (v0 + in0[i5, "
      "i6])\n"
      "s4: float32[6] = view in0 offset 0 strides [1]\n"
      "s5: int64[] = map() fold(i7 < 3; not empty; in any order: i7, (i7 * 2); v1, v2 & v3, v4 -> "
      "max(v1, v3), "
      "(v2 + v4) from 0, 1).1\n"
      "out s1\nout s2\nout s3\nout s4\nout s5\n");
}

TEST(TeText, Constants) {
  EXPECT_EQ(to_string(*c(3, kInt32).node()), "3i32");
  EXPECT_EQ(to_string(*c(3, kUInt8).node()), "3u8");
  EXPECT_EQ(to_string(*f(0.1).node()), "0.1f");
  EXPECT_EQ(to_string(*f(0.1, kFloat64).node()), "0.1f64");
  EXPECT_EQ(to_string(*f(-kInf, kBFloat16).node()), "-infbf16");
  EXPECT_EQ(to_string(*c(1, kBool).node()), "true");
}

TEST(TeVerify, RejectsIllFormed) {
  auto fails = [](const std::function<void(Computation&)>& damage) {
    Builder b({{{2}, kFloat32}});
    b.output(b.map({2}, [&](Indices i) { return b.input(0)(i) + 1.0; }));
    Computation computation = b.finish();
    damage(computation);
    EXPECT_THROW(computation.verify(), InternalError);
  };
  auto map_of = [](Computation& x) -> Map& { return std::get<Map>(x.stages[0].body); };
  fails([&](Computation& x) { map_of(x).values[0] = index_of({7, 2}).ref(); });
  fails([&](Computation& x) { map_of(x).values[0] = c(1, kInt32).ref(); });
  fails(
      [&](Computation& x) { map_of(x).values[0] = cast(placeholder(0, kInt32), kFloat32).ref(); });
  fails([&](Computation& x) { map_of(x).axes.push_back({0, 3}); });
  fails([&](Computation& x) { x.num_axes = 0; });
  fails([&](Computation& x) { x.outputs[0].tensor = {3, 0}; });
  fails([&](Computation& x) { x.outputs[0].dims = {Dim::any()}; });
  fails([&](Computation& x) { x.stages[0].outputs[0].dims = {Dim(3)}; });
  fails([&](Computation& x) {
    map_of(x).values[0] = Tensor({0, 0}, x.stages[0].outputs[0])({index_constant(0)}).ref();
  });
}

}  // namespace
}  // namespace relay::te::te_scalar_test
