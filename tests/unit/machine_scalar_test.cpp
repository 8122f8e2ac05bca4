// The machine's number operations against the direct evaluator's rows, on every type.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <relay/tensor_expr/rows.h>
#include <relay/vm/machine/scalar_ops.h>

namespace relay::vm::machine_scalar_test {
namespace {

namespace rows = te::rows;

std::vector<uint64_t> samples(DType dtype, std::mt19937_64& random) {
  std::vector<uint64_t> out;
  uint64_t mask = dtype.size() == 8 ? ~uint64_t{0} : (uint64_t{1} << dtype.size() * 8) - 1;
  if (dtype.is_bool()) return {0, 1};
  for (int64_t value : {0, 1, -1, 2, -2, 3, 7, -7, 31, 64, 100}) {
    uint64_t bits = 0;
    dispatch(dtype, [&](auto tag) {
      auto stored = convert_element<typename decltype(tag)::type>(value);
      std::memcpy(&bits, &stored, sizeof stored);
    });
    out.push_back(bits);
  }
  out.push_back(uint64_t{1} << (dtype.bits - 1));        // least integer, -0
  out.push_back((uint64_t{1} << (dtype.bits - 1)) - 1);  // greatest integer, NaN
  if (dtype.is_float()) {
    for (double value : {0.5, -0.5, 2.5, 1e-3, 1e30, double(INFINITY), -double(INFINITY)}) {
      uint64_t bits = 0;
      dispatch(dtype, [&](auto tag) {
        auto stored = convert_element<typename decltype(tag)::type>(value);
        std::memcpy(&bits, &stored, sizeof stored);
      });
      out.push_back(bits);
    }
  }
  for (int i = 0; i < 20; ++i) out.push_back(random() & mask);
  return out;
}

// One value through the rows.
uint64_t lane(DType dtype, uint64_t bits) {
  uint64_t out = 0;
  rows::load_strided(dtype, &out, &bits, 1, 1);
  return out;
}
uint64_t stored(DType dtype, uint64_t row) {
  if (rows::UnaryFn round = rows::round_fn(dtype)) round(&row, &row, 1);
  uint64_t out = 0;
  rows::store(dtype, &out, &row, 1);
  return out;
}

template <class F>
auto or_null(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception&) {
    return nullptr;
  }
}

bool same_number(DType dtype, uint64_t a, uint64_t b) {
  if (a == b) return true;
  if (!dtype.is_float()) return false;
  return dispatch(dtype, [&](auto tag) {
    typename decltype(tag)::type x, y;
    std::memcpy(&x, &a, sizeof x);
    std::memcpy(&y, &b, sizeof y);
    double dx = convert_element<double>(x), dy = convert_element<double>(y);
    return dx != dx && dy != dy;
  });
}

TEST(MachineScalar, Unary) {
  std::mt19937_64 random(1);
  for (DType dtype : kAllDTypes) {
    for (size_t i = 0; i < kNumUnaryOps; ++i) {
      auto op = static_cast<Unary>(i);
      ScalarFn fn = unary_scalar(op, dtype);
      rows::UnaryFn row =
          or_null([&] { return rows::unary_fn(static_cast<te::UnaryOp>(i), dtype); });
      ASSERT_EQ(fn == nullptr, row == nullptr)
          << te::unary_name(static_cast<te::UnaryOp>(i)) << " of " << dtype.name();
      if (fn == nullptr) continue;
      for (uint64_t x : samples(dtype, random)) {
        uint64_t out = 0, expected = 0, in = lane(dtype, x);
        ASSERT_TRUE(fn(&out, x, 0));
        row(&expected, &in, 1);
        DType result = scalar_op(op).result(dtype);
        ASSERT_TRUE(same_number(result, out, stored(result, expected)))
            << te::unary_name(static_cast<te::UnaryOp>(i)) << " of " << dtype.name() << " " << x;
      }
    }
  }
}

TEST(MachineScalar, Binary) {
  std::mt19937_64 random(2);
  for (DType dtype : kAllDTypes) {
    for (size_t i = 0; i < kNumBinaryOps; ++i) {
      auto op = static_cast<Binary>(i);
      auto te_op = static_cast<te::BinaryOp>(i);
      bool divides = dtype.is_integer() && relay::divides(op);
      ScalarFn fn = binary_scalar(op, dtype);
      rows::BinaryFn row = nullptr;
      rows::DivideFn divide = nullptr;
      if (divides) {
        divide = rows::divide_fn(te_op, dtype);
      } else {
        row = or_null([&] { return rows::binary_fn(te_op, dtype); });
      }
      ASSERT_EQ(fn == nullptr, row == nullptr && divide == nullptr)
          << te::binary_name(te_op) << " of " << dtype.name();
      if (fn == nullptr) continue;
      std::vector<uint64_t> values = samples(dtype, random);
      for (uint64_t x : values) {
        for (uint64_t y : values) {
          uint64_t out = 0, expected = 0, a = lane(dtype, x), b = lane(dtype, y);
          bool works = fn(&out, x, y);
          if (divides) {
            ASSERT_EQ(works, divide(&expected, &a, &b, nullptr, 1));
          } else {
            row(&expected, &a, &b, 1);
          }
          if (!works) continue;
          DType result = scalar_op(op).result(dtype);
          ASSERT_TRUE(same_number(result, out, stored(result, expected)))
              << te::binary_name(te_op) << " of " << dtype.name() << " " << x << " " << y;
        }
      }
    }
  }
}

TEST(MachineScalar, Cast) {
  std::mt19937_64 random(3);
  for (DType from : kAllDTypes) {
    for (DType to : kAllDTypes) {
      ScalarFn fn = cast_scalar(from, to);
      rows::UnaryFn row = rows::cast_fn(from, to);
      for (uint64_t x : samples(from, random)) {
        uint64_t out = 0, expected = 0, in = lane(from, x);
        ASSERT_TRUE(fn(&out, x, 0));
        row(&expected, &in, 1);
        ASSERT_TRUE(same_number(to, out, stored(to, expected)))
            << from.name() << " to " << to.name() << " " << x;
      }
    }
  }
}

// The numbers that stand in files; another order is another version of the file.
TEST(MachineScalar, NumbersOfOperations) {
  EXPECT_EQ(static_cast<int>(Unary::kSigmoid), 12);
  EXPECT_EQ(static_cast<int>(Unary::kIsFinite), 31);
  EXPECT_EQ(static_cast<int>(Binary::kAtan2), 10);
  EXPECT_EQ(static_cast<int>(Binary::kEq), 16);
  EXPECT_EQ(static_cast<int>(Binary::kGe), 21);
}

}  // namespace
}  // namespace relay::vm::machine_scalar_test
