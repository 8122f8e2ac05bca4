// Index maps and fusion kinds, derived from expressions.
#include <gtest/gtest.h>

#include <relay/tensor_expr/analysis.h>
#include <relay/tensor_expr/builder.h>

namespace relay::te::te_analysis_test {
namespace {

TensorInfo f32(std::vector<Dim> dims) { return {std::move(dims), kFloat32}; }

FusionKind kind(std::vector<TensorInfo> inputs, const std::function<void(Builder&)>& build) {
  Builder b(std::move(inputs));
  build(b);
  return fusion_kind(b.finish());
}

IndexMap only_map(std::vector<TensorInfo> inputs, Dims dims,
                  const std::function<Scalar(Builder&, Indices)>& body) {
  Builder b(std::move(inputs));
  b.output(b.map(dims, [&](Indices i) { return body(b, i); }));
  Computation c = b.finish();
  return load_maps(c, c.stages[0]).back().map;
}

TEST(TeAnalysis, IndexMaps) {
  auto x = [](Builder& b) { return b.input(0); };
  EXPECT_EQ(only_map({f32({2, 3})}, {2, 3}, [&](Builder& b, Indices i) { return x(b)(i); }),
            IndexMap::kIdentity);
  EXPECT_EQ(
      only_map({f32({2, 1})}, {2, 1}, [&](Builder& b, Indices i) { return x(b).broadcast(i); }),
      IndexMap::kIdentity);
  EXPECT_EQ(
      only_map({f32({2, 1})}, {2, 3}, [&](Builder& b, Indices i) { return x(b).broadcast(i); }),
      IndexMap::kBroadcast);
  EXPECT_EQ(only_map({f32({3})}, {2, 3}, [&](Builder& b, Indices i) { return x(b).broadcast(i); }),
            IndexMap::kBroadcast);
  EXPECT_EQ(only_map({f32({3, 2})}, {2, 3},
                     [&](Builder& b, Indices i) {
                       return x(b)({i[1], i[0]});
                     }),
            IndexMap::kPermutation);
  EXPECT_EQ(only_map({f32({8})}, {4}, [&](Builder& b, Indices i) { return x(b)({i[0] * 2}); }),
            IndexMap::kInjective);
  EXPECT_EQ(only_map({f32({8})}, {4}, [&](Builder& b, Indices i) { return x(b)(i); }),
            IndexMap::kInjective);  // a slice
  EXPECT_EQ(only_map({f32({8, 4})}, {8},
                     [&](Builder& b, Indices i) {
                       return b.sum({4}, [&](Indices k) { return x(b)({i[0], k[0]}); });
                     }),
            IndexMap::kFolded);
  EXPECT_EQ(only_map({f32({8}), {{4}, kInt64}}, {4},
                     [&](Builder& b, Indices i) { return x(b)({b.input(1)(i)}); }),
            IndexMap::kData);
}

TEST(TeAnalysis, FusionKinds) {
  EXPECT_EQ(kind({f32({2, 3})},
                 [](Builder& b) {
                   b.output(b.map({2, 3}, [&](Indices i) { return exp(b.input(0)(i)); }));
                 }),
            FusionKind::kElementwise);
  EXPECT_EQ(kind({f32({2, 3}), f32({3})},
                 [](Builder& b) {
                   b.output(b.map({2, 3}, [&](Indices i) {
                     return b.input(0).broadcast(i) + b.input(1).broadcast(i);
                   }));
                 }),
            FusionKind::kBroadcast);
  EXPECT_EQ(kind({f32({2, 3})}, [](Builder& b) { b.output(b.reshape(b.input(0), {6})); }),
            FusionKind::kInjective);
  EXPECT_EQ(kind({f32({2, 3})},
                 [](Builder& b) {
                   b.output(b.map({2, 1}, [&](Indices i) {
                     return b.sum({3}, [&](Indices k) { return b.input(0)({i[0], k[0]}); }) / 3.0;
                   }));
                 }),
            FusionKind::kReduction);
  EXPECT_EQ(kind({f32({2, 3}), f32({4, 3})},
                 [](Builder& b) {
                   b.output(b.map({2, 4}, [&](Indices i) {
                     return b.sum({3}, [&](Indices k) {
                       return b.input(0)({i[0], k[0]}) * b.input(1)({i[1], k[0]});
                     });
                   }));
                 }),
            FusionKind::kOutElementwise);
  EXPECT_EQ(kind({f32({8})},
                 [](Builder& b) {
                   b.output(b.map({4}, [&](Indices i) {
                     return b.max({3}, [&](Indices k) {
                       return b.input(0).load_or({i[0] * 2 + k[0]}, lowest(kFloat32));
                     });
                   }));
                 }),
            FusionKind::kOutElementwise);
  EXPECT_EQ(kind({f32({2, 3})},
                 [](Builder& b) {
                   Tensor m = b.map({2}, [&](Indices i) {
                     return b.max({3}, [&](Indices k) { return b.input(0)({i[0], k[0]}); });
                   });
                   b.output(b.map({2, 3}, [&](Indices i) { return b.input(0)(i) - m({i[0]}); }));
                 }),
            FusionKind::kRowProgram);
  EXPECT_EQ(
      kind({f32({8})},
           [](Builder& b) {
             b.output(b.scan(
                 {8}, 0, [](Indices) -> std::vector<Scalar> { return {constant(0.0, kFloat32)}; },
                 [&](Indices i, std::span<const Scalar> c) -> std::vector<Scalar> {
                   return {c[0] + b.input(0)(i)};
                 })[0]);
           }),
      FusionKind::kOpaque);
  EXPECT_EQ(fusion_kind_name(FusionKind::kOutElementwise), "out-elementwise-fusable");
}

}  // namespace
}  // namespace relay::te::te_analysis_test
