// Convolutions that run in blocks of tiles: what lowering makes of computations that no program
// gives it, and how much memory blocks may take.
#include <gtest/gtest.h>

#include <relay/lower/tiled_sums.h>
#include <relay/lower/winograd.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/tensor_expr/rewrite.h>

#include <tests/unit/contraction_testing.h>
#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>

namespace relay::lower_tiled_sums_test {
namespace {

using testing::random_array;

// Sixteen workers have 64 MiB for blocks of tiles.
TEST(TiledSums, BlocksAreBounded) {
  constexpr int64_t kMost = 4 << 20, kFloat = sizeof(float);
  for (int64_t vector_bytes : {16, 32, 64}) {
    for (int64_t points : {16, 36}) {
      for (int64_t channels = 1; channels < 1 << 20; channels = channels * 3 / 2 + 1) {
        const lower::Processor processor{.vector_bytes = vector_bytes};
        const int64_t tiles = lower::tiles_in_block(points, channels, processor);
        const int64_t least = processor.lanes(kFloat);
        SCOPED_TRACE(std::to_string(points) + " points, " + std::to_string(channels));
        EXPECT_EQ(tiles % least, 0);
        EXPECT_LE(tiles * points * channels * kFloat, kMost);
        EXPECT_EQ(tiles > 0, least * points * channels * kFloat <= kMost);
      }
    }
  }
}

/// A convolution over a plane that a run measures, with tiles and plain sums.
class OpenConvolution {
 public:
  OpenConvolution() {
    Conv2DAttrs attrs;
    attrs.padding = {1};
    const Dim height = Dim::symbol(height_.get()), width = Dim::symbol(width_.get());
    plain_ = computation_of("nn.conv2d", Attrs::make(attrs),
                            {TensorType::make(std::vector<Dim>{1, 32, height, width}, kFloat32),
                             TensorType::make(std::vector<Dim>{32, 32, 3, 3}, kFloat32)});
    weights_ = random_array(Shape{32, 32, 3, 3}, kFloat32, 2);
  }

  Dim width() const { return Dim::symbol(width_.get()); }
  lower::Winograd tiled(const codegen::Target& target) const {
    auto constant = [](size_t input) { return input == 1; };
    return lower::winograd_of(plain_, constant, target.processor).value();
  }

  /// Planes of few and of many tiles, and of so few that the plain sum is taken.
  void check(const te::Computation& computation, const te::Computation& transform,
             const codegen::Target& target) const {
    const NDArray transformed = te::evaluate(transform, {&weights_, 1}).at(0);
    lower::LowerOptions options;
    options.processor = target.processor;
    options.prepared = true;
    const testing::RunnableGroups native({lower::lower(computation, "test", options)}, target);
    for (auto [high, wide] : {std::pair(2, 2), {17, 19}, {60, 70}}) {
      SCOPED_TRACE(std::to_string(high) + " x " + std::to_string(wide));
      const auto symbols = [&](const TypeVar* symbol) {
        return int64_t{symbol == height_.get() ? high : wide};
      };
      const std::vector<NDArray> inputs{random_array(Shape{1, 32, high, wide}, kFloat32, 1),
                                        weights_, transformed};
      const std::vector<NDArray> wanted = te::evaluate(computation, inputs, symbols);
      for (int workers : {1, 3}) {
        const std::vector<NDArray> found = native.run(0, inputs, workers, symbols);
        ASSERT_EQ(found.size(), wanted.size());
        for (size_t k = 0; k < found.size(); ++k) {
          for (int64_t i = 0; i < found[k].size(); ++i)
            ASSERT_NEAR(found[k].data<float>()[i], wanted[k].data<float>()[i], 1e-2) << i;
        }
      }
    }
  }

 private:
  const TypeVarRef height_ = TypeVar::make("h", Kind::kShapeVar);
  const TypeVarRef width_ = TypeVar::make("w", Kind::kShapeVar);
  te::Computation plain_;
  NDArray weights_;
};

// Another stage that reads the results of a large plane point by point: it is not lost.
TEST(TiledSums, StagesThatRunWithOthers) {
  const Shape shape{1, 16, 483, 490};
  Conv2DAttrs attrs;
  attrs.padding = {1};
  const te::Computation plain =
      computation_of("nn.conv2d", Attrs::make(attrs),
                     {TensorType::make(std::vector<Dim>{1, 16, 483, 490}, kFloat32),
                      TensorType::make(std::vector<Dim>{16, 16, 3, 3}, kFloat32)});
  const codegen::Target target = testing::targets_here().back();
  lower::Winograd tiled = lower::winograd_of(
                              plain, [](size_t input) { return input == 1; }, target.processor)
                              .value();
  ASSERT_EQ(lower::find_tiled_sums(tiled.computation).size(), 1u);
  te::Builder builder(std::move(tiled.computation));
  const te::Tensor results = builder.tensor({2, 0});
  builder.output(
      builder.map(results.dims(), [&](te::Indices at) { return results(at) + results(at); }));
  const NDArray weights = random_array(Shape{16, 16, 3, 3}, kFloat32, 2);
  const std::vector<NDArray> inputs{random_array(shape, kFloat32, 1), weights,
                                    te::evaluate(tiled.weights, {&weights, 1}).at(0)};
  lower::LowerOptions options;
  options.processor = target.processor;
  options.prepared = true;
  const testing::RunnableGroups native({lower::lower(builder.finish(), "test", options)}, target);
  const std::vector<NDArray> found = native.run(0, inputs, 1);
  ASSERT_EQ(found.size(), 2u);
  for (int64_t i = 0; i < found[0].size(); ++i)
    ASSERT_EQ(found[1].data<float>()[i], 2 * found[0].data<float>()[i]) << i;
}

// A choice by another number than that of an estimate, which is 0 or 1.
TEST(TiledSums, ChoicesByAnyExtent) {
  const OpenConvolution conv;
  const codegen::Target target = testing::targets_here().back();
  lower::Winograd tiled = conv.tiled(target);
  ASSERT_EQ(lower::find_tiled_sums(tiled.computation).size(), 1u);
  auto& map = std::get<te::Map>(tiled.computation.stages.back().body);
  const te::ScalarRef asked = (te::from_dim(conv.width() - 40) > 0).ref();
  te::ScalarRewriter other(
      [&](const te::ScalarRef& node, const std::vector<te::ScalarRef>& args) -> te::ScalarRef {
        if (node->kind != te::ScalarKind::kSelect || node->args[2]->kind != te::ScalarKind::kFold)
          return {};
        return te::select(te::Scalar(asked), te::Scalar(args[1]), te::Scalar(args[2])).ref();
      });
  map.values[0] = other(map.values[0]);
  EXPECT_EQ(lower::find_tiled_sums(tiled.computation).size(), 1u);
  conv.check(tiled.computation, tiled.weights, target);
}

}  // namespace
}  // namespace relay::lower_tiled_sums_test
