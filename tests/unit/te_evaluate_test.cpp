// Direct evaluation of tensor expressions: stages, folds, laziness, bounds.
#include <cmath>

#include <gtest/gtest.h>

#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::te::te_evaluate_test {
namespace {

template <class T>
std::vector<T> values(const NDArray& array) {
  NDArray dense = array.contiguous();
  const T* data = dense.data<T>();
  return {data, data + dense.size()};
}

template <class T>
NDArray iota(Shape shape, double start = 0, double step = 1) {
  NDArray array = NDArray::empty(shape, dtype_of<T>());
  for (int64_t i = 0; i < array.size(); ++i) {
    array.data<T>()[i] = T(start + step * static_cast<double>(i));
  }
  return array;
}

std::vector<NDArray> run(Builder& b, std::vector<NDArray> inputs) {
  return evaluate(b.finish(), inputs);
}

std::vector<Dim> dims(const NDArray& array) { return {array.shape().begin(), array.shape().end()}; }
TensorInfo info(const NDArray& array) { return {dims(array), array.dtype()}; }

TEST(TeEvaluate, PointwiseWithBroadcast) {
  NDArray x = iota<float>({2, 3}), y = iota<float>({3}, 10);
  Builder b({info(x), info(y)});
  b.output(b.map(
      {2, 3}, [&](Indices i) { return b.input(0).broadcast(i) * 2.0 + b.input(1).broadcast(i); }));
  EXPECT_EQ(values<float>(run(b, {x, y})[0]), (std::vector<float>{10, 13, 16, 16, 19, 22}));
}

TEST(TeEvaluate, RankZeroAndEmpty) {
  NDArray x = NDArray::scalar(3.5f), e = NDArray::empty({0, 4}, kFloat32);
  Builder b({info(x), info(e)});
  b.output(b.map({}, [&](Indices i) { return b.input(0)(i) + 1.0; }));
  b.output(b.map({0, 4}, [&](Indices i) { return exp(b.input(1)(i)); }));
  b.output(b.map({4}, [&](Indices i) {
    return b.sum({0}, [&](Indices k) { return b.input(1)({k[0], i[0]}); });
  }));
  b.output(b.map(
      {}, [&](Indices) { return b.sum({}, [&](Indices) { return b.input(0)(Indices()); }); }));
  std::vector<NDArray> out = run(b, {x, e});
  EXPECT_EQ(values<float>(out[0]), std::vector<float>{4.5f});
  EXPECT_EQ(out[1].size(), 0);
  EXPECT_EQ(out[1].extent(1), 4);
  EXPECT_EQ(values<float>(out[2]), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(values<float>(out[3]), std::vector<float>{3.5f});
}

TEST(TeEvaluate, StridedInputs) {
  NDArray x = iota<float>({3, 4}).transpose();  // (4, 3), strides 1, 4
  NDArray y = iota<float>({12}).slice(0, 11, 4, -3);
  Builder b({info(x), info(y)});
  b.output(b.map({4, 3}, [&](Indices i) { return b.input(0)(i) + b.input(1)({i[0]}); }));
  EXPECT_EQ(values<float>(run(b, {x, y})[0]),
            (std::vector<float>{11, 15, 19, 9, 13, 17, 7, 11, 15, 5, 9, 13}));
}

TEST(TeEvaluate, LargerThanAChunk) {
  NDArray x = iota<int32_t>({7, 333});
  Builder b({info(x)});
  b.output(b.map({333, 7}, [&](Indices i) { return b.input(0)({i[1], i[0]}) * 3; }));
  NDArray out = run(b, {x})[0];
  for (int64_t i = 0; i < 333; ++i) {
    for (int64_t j = 0; j < 7; ++j) EXPECT_EQ(out.data<int32_t>()[i * 7 + j], 3 * (j * 333 + i));
  }
}

TEST(TeEvaluate, SumsAreTheSameInBothDirections) {
  // A loop around rows of points and rows along the fold add in the same order.
  NDArray x = iota<float>({1500, 3}, 0.1, 0.37);
  NDArray t = x.transpose().copy();
  auto column_sums = [](const NDArray& a, bool fold_first, int64_t columns) {
    Builder b({info(a)});
    b.output(b.map({columns}, [&](Indices i) {
      return b.sum({1500}, [&](Indices k) {
        return fold_first ? b.input(0)({k[0], i[0]}) : b.input(0)({i[0], k[0]});
      });
    }));
    return evaluate(b.finish(), std::vector<NDArray>{a})[0];
  };
  NDArray wide = NDArray::empty({1500, 2000}, kFloat32);
  for (int64_t i = 0; i < 1500; ++i) {
    for (int64_t j = 0; j < 2000; ++j)
      wide.data<float>()[i * 2000 + j] = x.data<float>()[i * 3 + j % 3];
  }
  std::vector<float> rows = values<float>(column_sums(t, false, 3));
  std::vector<float> loops = values<float>(column_sums(wide, true, 2000));
  for (size_t j = 0; j < loops.size(); ++j) EXPECT_EQ(loops[j], rows[j % 3]);
  double exact = 0;
  for (int64_t i = 0; i < 1500; ++i) exact += x.data<float>()[i * 3];
  EXPECT_NEAR(rows[0], exact, exact * 1e-6);
}

TEST(TeEvaluate, ExtremaPropagateNan) {
  float nan = std::nanf("");
  NDArray x = NDArray::from<float>({2, 3}, {1, nan, 3, -1, -2, -3});
  Builder b({info(x)});
  auto at = [&](Indices i, Indices k) { return b.input(0)({i[0], k[0]}); };
  b.output(b.map({2}, [&](Indices i) { return b.max({3}, [&](Indices k) { return at(i, k); }); }));
  b.output(b.map({2}, [&](Indices i) { return b.min({3}, [&](Indices k) { return at(i, k); }); }));
  b.output(b.map({2}, [&](Indices i) {
    return b.prod({3}, [&](Indices k) { return cast(at(i, k), kFloat64); });
  }));
  std::vector<NDArray> out = run(b, {x});
  EXPECT_TRUE(std::isnan(values<float>(out[0])[0]));
  EXPECT_EQ(values<float>(out[0])[1], -1);
  EXPECT_TRUE(std::isnan(values<float>(out[1])[0]));
  EXPECT_EQ(values<float>(out[1])[1], -3);
  EXPECT_EQ(values<double>(out[2])[1], -6);
}

TEST(TeEvaluate, EmptyFold) {
  NDArray x = NDArray::empty({2, 0}, kFloat32);
  Builder b({info(x)});
  b.output(b.map({2}, [&](Indices i) {
    return b.max({0}, [&](Indices k) { return b.input(0)({i[0], k[0]}); });
  }));
  EXPECT_EQ(values<float>(run(b, {x})[0])[0], -INFINITY);
  Builder c({info(x)});
  c.output(c.map({2}, [&](Indices i) {
    return c.max(
        {0},
        [&](Indices k) {
          return c.input(0)({i[0], k[0]});
        },
        true);
  }));
  Computation computation = c.finish();
  EXPECT_THROW(evaluate(computation, std::vector<NDArray>{x}), RuntimeError);
}

std::vector<Scalar> argmax(Builder& b, Dim n, const std::function<Scalar(Scalar)>& at,
                           DType dtype) {
  return b.fold(
      {n},
      [&](Indices k) -> std::vector<Scalar> {
        return {at(k[0]), k[0]};
      },
      [](std::span<const Scalar> l, std::span<const Scalar> r) -> std::vector<Scalar> {
        Scalar take = r[0] > l[0] || (r[0] == l[0] && r[1] < l[1]);
        return {select(take, r[0], l[0]), select(take, r[1], l[1])};
      },
      {lowest(dtype), highest(kInt64)}, {.needs_element = true, .commutes = true});
}

TEST(TeEvaluate, ArgmaxBothWays) {
  // 5 points of 1001, then 1001 points of 5.
  NDArray x = NDArray::empty({5, 1001}, kFloat32);
  for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>((i * 7919) % 613);
  for (bool rows : {true, false}) {
    Builder b({info(x)});
    Dim outer = rows ? 5 : 1001, inner = rows ? 1001 : 5;
    b.output(b.map({outer}, [&](Indices i) {
      return argmax(
          b, inner,
          [&](Scalar k) {
            return rows ? b.input(0)({i[0], k}) : b.input(0)({k, i[0]});
          },
          kFloat32)[1];
    }));
    std::vector<int64_t> got = values<int64_t>(run(b, {x})[0]);
    for (int64_t i = 0; i < outer.as_int(); ++i) {
      int64_t best = 0;
      auto at = [&](int64_t k) { return x.data<float>()[rows ? i * 1001 + k : k * 1001 + i]; };
      for (int64_t k = 1; k < inner.as_int(); ++k) {
        if (at(k) > at(best)) best = k;
      }
      EXPECT_EQ(got[static_cast<size_t>(i)], best);
    }
  }
}

TEST(TeEvaluate, CustomFoldKeepsTheOrderOfOperands) {
  // The last value that is not negative: associative, not commutative.
  NDArray x = NDArray::empty({2051}, kInt32);
  for (int64_t i = 0; i < x.size(); ++i)
    x.data<int32_t>()[i] = i > 1500 ? -1 : static_cast<int32_t>(i);
  Builder b({info(x)});
  b.output(b.map({}, [&](Indices) {
    return b.fold(
        {2051}, [&](Indices k) -> std::vector<Scalar> { return {b.input(0)(k)}; },
        [](auto l, auto r) -> std::vector<Scalar> { return {select(r[0] >= 0, r[0], l[0])}; },
        {constant(-1, kInt32)})[0];
  }));
  EXPECT_EQ(values<int32_t>(run(b, {x})[0])[0], 1500);
}

TEST(TeEvaluate, FoldWhereDoesNotLoad) {
  NDArray x = iota<int32_t>({4}, 1);
  for (int64_t points : {1, 40}) {
    Builder b({info(x)});
    b.output(b.map({points}, [&](Indices i) {
      Scalar sum = b.sum({8}, [&](Indices k) {
        return b.input(0).load({k[0]}, Bounds::kFail) + cast(i[0], kInt32);
      });
      auto node = make_ref<ScalarNode>(ScalarKind::kFold, kInt32);
      node->axes = sum.node()->axes;
      node->combiner = sum.node()->combiner;
      node->args = sum.node()->args;
      node->args.push_back((index_of(node->axes[0]) < 3 + i[0] * 0).ref());
      return Scalar(node);
    }));
    std::vector<int32_t> got = values<int32_t>(run(b, {x})[0]);
    for (int64_t i = 0; i < points; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], 6 + 3 * i);
  }
}

TEST(TeEvaluate, BoundsModes) {
  NDArray x = iota<int32_t>({3}, 10);
  Builder b({info(x)});
  b.output(b.map({7}, [&](Indices i) { return b.input(0).load({i[0] - 2}, Bounds::kClamp); }));
  b.output(b.map({7}, [&](Indices i) { return b.input(0).load({i[0] - 2}, Bounds::kWrap); }));
  b.output(
      b.map({7}, [&](Indices i) { return b.input(0).load_or({i[0] - 2}, constant(-1, kInt32)); }));
  b.output(b.map({7}, [&](Indices i) {
    return b.input(0).load_or({floor_div(i[0], index_constant(2)) - 1}, constant(-1, kInt32));
  }));
  std::vector<NDArray> out = run(b, {x});
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{10, 10, 10, 11, 12, 12, 12}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{11, 12, 10, 11, 12, 10, 11}));
  EXPECT_EQ(values<int32_t>(out[2]), (std::vector<int32_t>{-1, -1, 10, 11, 12, -1, -1}));
  EXPECT_EQ(values<int32_t>(out[3]), (std::vector<int32_t>{-1, -1, 10, 10, 11, 11, 12}));
  for (Bounds bounds : {Bounds::kFail, Bounds::kProven}) {
    Builder c({info(x)});
    c.output(c.map({4}, [&](Indices i) { return c.input(0).load({i[0]}, bounds); }));
    Computation computation = c.finish();
    try {
      evaluate(computation, std::vector<NDArray>{x});
      FAIL() << "no error";
    } catch (const RuntimeError& error) {
      EXPECT_STREQ(error.what(), "index 3 is out of range for extent 3");
    }
  }
}

TEST(TeEvaluate, SelectIsLazy) {
  NDArray x = iota<int32_t>({3}, 10), y = iota<int32_t>({4}, 20), d = iota<int32_t>({7}, -3);
  Builder b({info(x), info(y), info(d)});
  b.output(b.map({7}, [&](Indices i) {
    std::vector<Dim> parts{3, 4};
    return piecewise(i[0], parts,
                     [&](size_t part, Scalar local) { return b.input(part)({local}); });
  }));
  b.output(b.map({7}, [&](Indices i) {
    Scalar divisor = b.input(2)({i[0]});
    return select(divisor == 0, constant(-1, kInt32), constant(12, kInt32) / divisor);
  }));
  std::vector<NDArray> out = run(b, {x, y, d});
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{10, 11, 12, 20, 21, 22, 23}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{-4, -6, -12, -1, 12, 6, 4}));
}

TEST(TeEvaluate, NodeSharedByTwoArms) {
  // The quotient is needed where either condition holds, and must not be computed elsewhere.
  NDArray d = iota<int32_t>({9}, -4);
  Builder b({info(d)});
  b.output(b.map({9}, [&](Indices i) {
    Scalar x = b.input(0)(i);
    Scalar quotient = constant(12, kInt32) / x;
    Scalar zero = constant(0, kInt32);
    return select(x > 0, quotient, zero) + select(x < -2, quotient * 100, zero);
  }));
  EXPECT_EQ(values<int32_t>(run(b, {d})[0]),
            (std::vector<int32_t>{-300, -400, 0, 0, 0, 12, 6, 4, 3}));
}

TEST(TeEvaluate, ConditionThatNeedsTheGuardedValue) {
  NDArray d = iota<int32_t>({5}, -2);
  Builder b({info(d)});
  b.output(b.map({5}, [&](Indices i) {
    Scalar x = b.input(0)(i);
    Scalar quotient = constant(6, kInt32) / x;
    Scalar condition = select(x != 0, quotient > 3, constant(0, kBool));
    return select(condition, quotient, constant(-1, kInt32));
  }));
  EXPECT_EQ(values<int32_t>(run(b, {d})[0]), (std::vector<int32_t>{-1, -1, -1, 6, -1}));
}

TEST(TeEvaluate, NestedArms) {
  NDArray x = iota<int32_t>({300});
  auto chain = [&](int64_t depth) {
    Builder b({info(x)});
    b.output(b.map({300}, [&](Indices i) {
      Scalar value = constant(-1, kInt32);
      for (int64_t k = depth; k-- > 0;) {
        value = select(i[0] == k, b.input(0).load({i[0]}, Bounds::kFail) * cast(i[0] + k, kInt32),
                       value);
      }
      return value;
    }));
    return b.finish();
  };
  std::vector<int32_t> got = values<int32_t>(evaluate(chain(150), std::vector<NDArray>{x})[0]);
  for (int32_t k = 0; k < 300; ++k)
    EXPECT_EQ(got[static_cast<size_t>(k)], k < 150 ? 2 * k * k : -1);
  Computation too_deep = chain(5000);
  EXPECT_THROW(evaluate(too_deep, std::vector<NDArray>{x}), InternalError);
  // A balanced tree has no such limit.
  Builder b({info(x)});
  std::vector<Dim> parts(3000, Dim(1));
  b.output(b.map({3000}, [&](Indices i) {
    return piecewise(i[0], parts, [&](size_t part, Scalar local) {
      return b.input(0)({local + static_cast<int64_t>(part % 300)});
    });
  }));
  got = values<int32_t>(run(b, {x})[0]);
  for (int32_t k = 0; k < 3000; ++k) EXPECT_EQ(got[static_cast<size_t>(k)], k % 300);
}

TEST(TeEvaluate, DivisionByZeroAndFail) {
  NDArray d = iota<int32_t>({5}, -2);
  Builder b({info(d)});
  b.output(b.map({5}, [&](Indices i) { return constant(6, kInt32) / b.input(0)(i); }));
  Computation computation = b.finish();
  try {
    evaluate(computation, std::vector<NDArray>{d});
    FAIL() << "no error";
  } catch (const RuntimeError& error) {
    EXPECT_STREQ(error.what(), "integer division by zero");
  }
  Builder c({info(d)});
  c.output(c.map({5}, [&](Indices i) {
    Scalar x = c.input(0)(i);
    return fail_unless(x > -3, x, "too small") + fail_unless(x < 2, x, "too large");
  }));
  computation = c.finish();
  try {
    evaluate(computation, std::vector<NDArray>{d});
    FAIL() << "no error";
  } catch (const RuntimeError& error) {
    EXPECT_STREQ(error.what(), "too large");
  }
}

TEST(TeEvaluate, HoistingDoesNotFail) {
  // The load does not depend on the fold, which has no points: it must not happen.
  NDArray x = iota<int32_t>({3});
  Builder b({info(x)});
  b.output(b.map({5}, [&](Indices i) {
    return b.sum({0},
                 [&](Indices k) { return b.input(0).load(i, Bounds::kFail) + cast(k[0], kInt32); });
  }));
  b.output(b.map({5}, [&](Indices i) {
    return b.sum({4}, [&](Indices k) {
      return select(i[0] < 3, b.input(0).load(i, Bounds::kFail), constant(7, kInt32)) +
             cast(k[0], kInt32);
    });
  }));
  std::vector<NDArray> out = run(b, {x});
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>(5, 0)));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{6, 10, 14, 34, 34}));
}

TEST(TeEvaluate, Scan) {
  NDArray x = iota<int32_t>({2, 3}, 1);
  for (uint32_t along : {0u, 1u}) {
    for (bool reverse : {false, true}) {
      for (bool exclusive : {false, true}) {
        Builder b({info(x)});
        b.output(b.scan(
            {2, 3}, along, [](Indices) -> std::vector<Scalar> { return {constant(0, kInt32)}; },
            [&](Indices i, std::span<const Scalar> c) -> std::vector<Scalar> {
              return {c[0] + b.input(0)(i)};
            },
            reverse, exclusive)[0]);
        std::vector<int32_t> got = values<int32_t>(run(b, {x})[0]);
        for (int64_t i = 0; i < 2; ++i) {
          for (int64_t j = 0; j < 3; ++j) {
            int32_t sum = 0;
            int64_t at = along == 0 ? i : j;
            for (int64_t k = 0; k < (along == 0 ? 2 : 3); ++k) {
              bool in = reverse ? k >= at : k <= at;
              if (exclusive && k == at) in = false;
              if (in) sum += static_cast<int32_t>(1 + (along == 0 ? k * 3 + j : i * 3 + k));
            }
            EXPECT_EQ(got[static_cast<size_t>(i * 3 + j)], sum) << along << reverse << exclusive;
          }
        }
      }
    }
  }
}

TEST(TeEvaluate, LongScanAndSeveralCarries) {
  NDArray x = iota<int64_t>({5000});
  Builder b({info(x)});
  b.output(b.scan(
      {5000}, 0, [](Indices) -> std::vector<Scalar> { return {index_constant(0)}; },
      [&](Indices i, std::span<const Scalar> c) -> std::vector<Scalar> {
        return {c[0] + b.input(0)(i)};
      },
      true)[0]);
  // Fibonacci: the carries change places.
  b.output(b.scan(
      {10}, 0,
      [](Indices) -> std::vector<Scalar> {
        return {index_constant(0), index_constant(1)};
      },
      [&](Indices, std::span<const Scalar> c) -> std::vector<Scalar> {
        return {c[1], c[0] + c[1]};
      })[0]);
  std::vector<NDArray> out = run(b, {x});
  EXPECT_EQ(out[0].data<int64_t>()[0], 5000 * 4999 / 2);
  EXPECT_EQ(out[0].data<int64_t>()[4999], 4999);
  EXPECT_EQ(out[0].data<int64_t>()[4997], 4999 + 4998 + 4997);
  EXPECT_EQ(values<int64_t>(out[1]), (std::vector<int64_t>{1, 1, 2, 3, 5, 8, 13, 21, 34, 55}));
}

TEST(TeEvaluate, UpdateWithDuplicates) {
  NDArray base = iota<float>({4}), at = NDArray::from<int64_t>({5}, {1, 3, 1, 1, 0});
  NDArray value = iota<float>({5}, 10);
  auto run_update = [&](Builder::UpdateOp op, Bounds bounds, int64_t shift) {
    Builder b({info(base), info(at), info(value)});
    b.output(b.update(
        b.input(0), {5}, [&](Indices i) -> std::vector<Scalar> { return {b.input(1)(i) + shift}; },
        [&](Indices i) { return b.input(2)(i); }, op, bounds));
    return values<float>(run(b, {base, at, value})[0]);
  };
  EXPECT_EQ(run_update(Builder::UpdateOp::kAssign, Bounds::kFail, 0),
            (std::vector<float>{14, 13, 2, 11}));
  EXPECT_EQ(run_update(Builder::UpdateOp::kSum, Bounds::kFail, 0),
            (std::vector<float>{14, 36, 2, 14}));
  EXPECT_EQ(run_update(Builder::UpdateOp::kMin, Bounds::kFill, 1),
            (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(run_update(Builder::UpdateOp::kMax, Bounds::kFill, 1),
            (std::vector<float>{0, 14, 13, 3}));
  EXPECT_THROW(run_update(Builder::UpdateOp::kProd, Bounds::kFail, 1), RuntimeError);
  EXPECT_EQ(values<float>(base), (std::vector<float>{0, 1, 2, 3}));  // untouched
}

TEST(TeEvaluate, Views) {
  NDArray x = iota<int32_t>({3, 4});
  Builder b({info(x)});
  b.output(b.reshape(b.input(0), {2, 6}));
  b.output(b.view(b.input(0), 11, {2, 2}, {-4, -2}));
  std::vector<NDArray> out = run(b, {x});
  EXPECT_EQ(out[0].raw(), x.raw());
  EXPECT_EQ(out[0].extent(1), 6);
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{11, 9, 7, 5}));
}

void positive_kernel(LibraryCall& call) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < call.inputs[0].size(); ++i) {
    if (call.inputs[0].element_as_int64(i) > call.integer("least")) found.push_back(i);
  }
  auto count = static_cast<int64_t>(found.size());
  std::copy(found.begin(), found.end(), call.make(0, {count}).data<int64_t>());
}
RELAY_LIBRARY_KERNEL("test.positive", positive_kernel, {1, 1, {{"least", ParamKind::kInteger}}});

TEST(TeEvaluate, LibraryCounts) {
  NDArray x = NDArray::from<int32_t>({5}, {1, -1, 5, 7, 0});
  Builder b({info(x)});
  std::vector<Tensor> inputs{b.input(0)};
  b.output(b.library("test.positive", inputs, {{{Dim::any()}, kInt64}}, {{"least", 2}})[0]);
  EXPECT_EQ(values<int64_t>(run(b, {x})[0]), (std::vector<int64_t>{2, 3}));
}

TEST(TeEvaluate, DimsFromValues) {
  NDArray x = iota<int32_t>({10}), n = NDArray::from<int64_t>({2}, {3, 2});
  Builder b({info(x), info(n)});
  Dim count = Dim::value(1, 0), step = Dim::value(1, 1);
  b.output(b.map({count * step + 1}, [&](Indices i) {
    return b.input(0).load_or({i[0] * from_dim(step)}, constant(-1, kInt32));
  }));
  EXPECT_EQ(values<int32_t>(run(b, {x, n})[0]), (std::vector<int32_t>{0, 2, 4, 6, 8, -1, -1}));
}

// The largest error of x^exponent in units of the last place of the exact value.
double power_error(double exponent, bool negative) {
  constexpr int64_t kCount = 100'000;
  NDArray x = NDArray::empty({kCount}, kFloat32);
  for (int64_t i = 0; i < kCount; ++i) {
    double at = std::exp2(static_cast<double>(i) / kCount * 240 - 120);
    x.data<float>()[i] = static_cast<float>(negative ? -at : at);
  }
  Builder b({info(x)});
  Scalar value = pow(b.input(0)({index_constant(0)}), constant(exponent, kFloat32));
  EXPECT_EQ(to_string(*value.node()).find("pow"), std::string::npos);
  b.output(
      b.map({kCount}, [&](Indices i) { return pow(b.input(0)(i), constant(exponent, kFloat32)); }));
  std::vector<float> found = values<float>(run(b, {x})[0]);
  double most = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    double exact = std::pow(static_cast<double>(x.data<float>()[i]), exponent);
    auto near = static_cast<float>(exact);
    if (std::isinf(near) || std::isinf(found[static_cast<size_t>(i)])) {
      EXPECT_EQ(found[static_cast<size_t>(i)], near) << x.data<float>()[i];
      continue;
    }
    const double least = std::exp2(-149);
    const double unit = near == 0 ? least : std::max(std::exp2(std::ilogb(near) - 23), least);
    most = std::max(most, std::abs(found[static_cast<size_t>(i)] - exact) / unit);
  }
  return most;
}

TEST(TeEvaluate, PowersWithAKnownExponent) {
  for (auto [exponent, bound] : {std::pair{1.0, 0.0},
                                 {2.0, 0.5},
                                 {3.0, 1.5},
                                 {4.0, 2.5},
                                 {-1.0, 0.501},
                                 {-2.0, 2.5},
                                 {0.5, 0.501},
                                 {0.25, 1.0},
                                 {0.75, 2.25},
                                 {-0.25, 2.0},
                                 {-0.5, 1.5},
                                 {-0.75, 3.5}}) {
    EXPECT_LE(power_error(exponent, false), bound) << exponent;
    if (exponent == std::round(exponent)) {
      EXPECT_LE(power_error(exponent, true), bound) << exponent;
    }
  }
  // An exponent that is one number throughout is as good as a constant.
  NDArray x = iota<float>({1000}, -3, 0.0127);
  for (float exponent : {3.0f, 0.5f, -0.75f, 2.5f}) {
    NDArray e = NDArray::scalar(exponent);
    Builder known({info(x)}), given({info(x), info(e)});
    known.output(known.map({1000}, [&](Indices i) {
      return pow(known.input(0)(i), constant(static_cast<double>(exponent), kFloat32));
    }));
    given.output(given.map(
        {1000}, [&](Indices i) { return pow(given.input(0)(i), given.input(1).broadcast(i)); }));
    EXPECT_TRUE(bit_equal(run(known, {x})[0], run(given, {x, e})[0])) << exponent;
  }
}

TEST(TeEvaluate, Transposes) {
  NDArray x = iota<float>({40, 3, 50});
  Builder b({info(x)});
  b.output(b.map({50, 3, 40}, [&](Indices i) { return b.input(0)({i[2], i[1], i[0]}); }));
  b.output(b.map({3, 50}, [&](Indices i) { return b.input(0)({i[0], i[0], i[1]}); }));
  std::vector<NDArray> out = run(b, {x});
  size_t axes[] = {2, 1, 0};
  EXPECT_TRUE(bit_equal(out[0], x.transpose(axes)));
  for (int64_t i = 0; i < 150; ++i) {
    int64_t at = i / 50 * 150 + i / 50 * 50 + i % 50;
    EXPECT_EQ(out[1].element_as_double(i), x.element_as_double(at));
  }
}

TEST(TeEvaluate, Convolution) {
  // Against a direct loop: strides, padding, dilation, groups, several outputs a chunk.
  const int64_t N = 2, C = 6, H = 9, W = 8, O = 4, G = 2, K = 3, S = 2, P = 2, D = 2;
  const int64_t OH = (H + 2 * P - D * (K - 1) - 1) / S + 1,
                OW = (W + 2 * P - D * (K - 1) - 1) / S + 1;
  NDArray x = iota<float>({N, C, H, W}, -100, 0.25), w = iota<float>({O, C / G, K, K}, -3, 0.125);
  Builder b({info(x), info(w)});
  b.output(b.map({N, O, OH, OW}, [&](Indices i) {
    Scalar group = floor_div(i[1], index_constant(O / G));
    return b.sum({C / G, K, K}, [&](Indices k) {
      return b.input(0).load_or(
                 {i[0], group * (C / G) + k[0], i[2] * S + k[1] * D - P, i[3] * S + k[2] * D - P},
                 constant(0.0, kFloat32)) *
             b.input(1)({i[1], k[0], k[1], k[2]});
    });
  }));
  NDArray out = run(b, {x, w})[0];
  const float *xp = x.data<float>(), *wp = w.data<float>(), *op = out.data<float>();
  for (int64_t n = 0; n < N; ++n)
    for (int64_t o = 0; o < O; ++o)
      for (int64_t r = 0; r < OH; ++r)
        for (int64_t c = 0; c < OW; ++c) {
          float sum = 0;
          for (int64_t k = 0; k < C / G; ++k)
            for (int64_t kr = 0; kr < K; ++kr)
              for (int64_t kc = 0; kc < K; ++kc) {
                int64_t y = r * S + kr * D - P, z = c * S + kc * D - P;
                if (y < 0 || y >= H || z < 0 || z >= W) continue;
                int64_t ch = o / (O / G) * (C / G) + k;
                sum +=
                    xp[((n * C + ch) * H + y) * W + z] * wp[((o * (C / G) + k) * K + kr) * K + kc];
              }
          EXPECT_FLOAT_EQ(op[((n * O + o) * OH + r) * OW + c], sum);
        }
}

}  // namespace
}  // namespace relay::te::te_evaluate_test
