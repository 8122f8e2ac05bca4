// Products of bfloat16, two steps of k in one instruction, against direct evaluation: on all
// instruction sets. The numbers are small integers, so sums are exact in any order.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <relay/lower/contraction_plan.h>
#include <relay/lower/packing.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>

#include <tests/unit/contraction_run.h>

namespace relay::codegen_bfloat16_test {
namespace {

using contraction_run::Case;
using contraction_run::evaluated;
using contraction_run::expect_equal;
using contraction_run::inputs_of;
using contraction_run::run_kernel;

TypeRef tensor(std::vector<Dim> dims) { return TensorType::make(dims, kBFloat16); }

// Those that differ in what they do with bfloat16.
std::vector<codegen::Target> targets() {
  std::vector<codegen::Target> all = contraction_run::targets();
  std::erase_if(all, [](const codegen::Target& target) {
    return target.dots && !target.processor.bfloat16_pairs;
  });
  return all;
}

int64_t group_on(const codegen::Target& target) { return target.processor.bfloat16_pairs ? 2 : 1; }

lower::ContractionPlan plan_on(const codegen::Target& target, const te::Computation& computation) {
  return lower::plan_contraction(*contraction_of(computation), target.processor);
}

void check(const te::Computation& computation) {
  for (const codegen::Target& target : targets())
    EXPECT_EQ(plan_on(target, computation).group, group_on(target)) << target.name();
  contraction_run::check({computation, {}, {}});
}

te::Computation product(Dim m, Dim n, Dim k, bool transpose_a = false, bool transpose_b = false,
                        int64_t batch = 2) {
  BatchMatmulAttrs attrs;
  attrs.transpose_a = transpose_a;
  attrs.transpose_b = transpose_b;
  attrs.out_dtype = kFloat32;
  std::vector<Dim> a{batch, m, k}, b{batch, k, n};
  if (transpose_a) std::swap(a[1], a[2]);
  if (transpose_b) std::swap(b[1], b[2]);
  return computation_of("nn.batch_matmul", Attrs::make(attrs), {tensor(a), tensor(b)});
}

te::Computation conv(std::vector<Dim> data, std::vector<Dim> weight,
                     const std::function<void(Conv2DAttrs&)>& set = {}) {
  Conv2DAttrs attrs;
  attrs.out_dtype = kFloat32;
  if (set) set(attrs);
  return computation_of("nn.conv2d", Attrs::make(attrs), {tensor(data), tensor(weight)});
}

TEST(BFloat16Pairs, Products) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{7, 16, 4},
                         {17, 58, 33},
                         {3, 1, 17},
                         {1, 17, 3},
                         {8, 48, 65},
                         {70, 130, 131},
                         {2, 5, 1},
                         {3, 5, 0}}) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
        check(product(m, n, k, ta, tb));
      }
    }
  }
}

TEST(BFloat16Pairs, Convolutions) {
  auto padded = [](Conv2DAttrs& attrs) { attrs.padding = {1}; };
  auto strided = [](Conv2DAttrs& attrs) {
    attrs.padding = {1};
    attrs.strides = {2};
  };
  auto grouped = [](Conv2DAttrs& attrs) { attrs.groups = 2; };
  auto last = [](Conv2DAttrs& attrs) {
    attrs.data_layout = "NHWC";
    attrs.kernel_layout = "HWIO";
    attrs.padding = {1};
  };
  check(conv({2, 5, 8, 8}, {20, 5, 1, 1}));
  check(conv({2, 8, 6, 7}, {20, 8, 1, 1}));
  check(conv({1, 5, 9, 8}, {13, 5, 3, 3}, padded));
  check(conv({2, 7, 13, 15}, {13, 7, 3, 3}, padded));
  check(conv({1, 3, 19, 21}, {13, 3, 7, 7}, strided));
  check(conv({1, 6, 8, 8}, {14, 3, 3, 3}, grouped));
  check(conv({1, 9, 8, 5}, {3, 3, 5, 37}, last));
  check(conv({1, 16, 2, 3}, {70, 16, 2, 2}));
}

// A few columns more than whole vectors are vectors along k, in pairs too. The number of steps is
// odd, and weights are read where they are.
TEST(BFloat16Pairs, ColumnsLeftOver) {
  for (const auto& [height, width] : {std::pair(7, 7), std::pair(5, 10)}) {
    SCOPED_TRACE(std::to_string(height) + " x " + std::to_string(width));
    const te::Computation c = conv({2, 17, height, width}, {200, 17, 3, 3},
                                   [](Conv2DAttrs& attrs) { attrs.padding = {1}; });
    for (const codegen::Target& target : targets()) {
      const lower::ContractionPlan plan = plan_on(target, c);
      // Elsewhere rows are widened on the way.
      const bool pairs = target.processor.bfloat16_pairs && !plan.matrix;
      EXPECT_EQ(plan.tail, pairs ? height * width % plan.lanes : 0) << target.name();
    }
    check(c);
  }
}

// Any number of rows, few of them along k and many in tiles.
TEST(BFloat16Pairs, OpenRows) {
  const TypeVarRef symbol = TypeVar::make("n", Kind::kShapeVar);
  const Dim rows = Dim::symbol(symbol.get());
  for (int64_t count : {0, 5, 9, 40}) {
    for (bool transposed : {false, true}) {
      SCOPED_TRACE(std::to_string(count) + " rows");
      contraction_run::check({product(rows, 50, 70, false, transposed), {rows}, {count}});
    }
  }
}

// Constant weights in pairs of k, by the form that packing gives them.
TEST(BFloat16Pairs, PackedWeights) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{9, 100, 37}, {64, 64, 64}, {1, 130, 12}}) {
    for (bool transposed : {false, true}) {
      const te::Computation plain = product(m, n, k, false, transposed, 1);
      const std::vector<NDArray> inputs = inputs_of({plain, {}, {}});
      const NDArray expected = evaluated({plain, {}, {}}, inputs);
      for (const codegen::Target& target : targets()) {
        SCOPED_TRACE(target.name());
        auto packed = lower::packing_of(
            plain, [](size_t input) { return input == 1; }, target.processor);
        if (!packed) {
          EXPECT_EQ(m, 1);
          continue;
        }
        std::vector<NDArray> all = inputs;
        all.push_back(te::evaluate(packed->packing, {&inputs[1], 1}, {})[0]);
        const Case c{packed->computation, {}, {}};
        const lower::ContractionPlan plan = plan_on(target, c.computation);
        EXPECT_TRUE(plan.rhs_packed);
        EXPECT_EQ(plan.group, group_on(target));
        expect_equal(evaluated(c, all), expected);
        expect_equal(run_kernel(c, all, expected, target), expected);
      }
    }
  }
}

// The instruction is in the code where the target has it, and not elsewhere.
TEST(BFloat16Pairs, Instruction) {
  for (bool few : {false, true}) {
    auto kernel = std::make_shared<lower::Kernel>();
    kernel->name = "test";
    kernel->implementation = "contraction";
    kernel->body = *contraction_of(product(few ? 2 : 32, 64, 64, false, few));
    for (const char* name : {"avx512-amx", "avx512-bf16", "avx512-vnni", "avx512", "avx2"}) {
      SCOPED_TRACE(name);
      const codegen::Target target = codegen::Target::parse(name);
      const std::string text = codegen::emit_text(*kernel, target, codegen::Text::kAssembly);
      const bool tiles = target.processor.matrix_tiles && !few;
      EXPECT_EQ(text.find("tdpbf16ps") != std::string::npos, tiles);
      EXPECT_EQ(text.find("vdpbf16ps") != std::string::npos,
                target.processor.bfloat16_pairs && !tiles);
    }
  }
}

// Infinities and not-a-number go through sums.
TEST(BFloat16Pairs, NotFinite) {
  const te::Computation c = product(9, 20, 7);
  std::vector<NDArray> inputs = inputs_of({c, {}, {}});
  auto* first = static_cast<BFloat16*>(inputs[0].raw());
  first[0] = BFloat16(std::numeric_limits<float>::infinity());
  first[20] = BFloat16(std::numeric_limits<float>::quiet_NaN());
  const NDArray expected = evaluated({c, {}, {}}, inputs);
  for (const codegen::Target& target : targets()) {
    SCOPED_TRACE(target.name());
    const NDArray found = run_kernel({c, {}, {}}, inputs, expected, target);
    for (int64_t i = 0; i < found.size(); ++i) {
      const double wanted = expected.element_as_double(i), got = found.element_as_double(i);
      EXPECT_TRUE(got == wanted || (std::isnan(got) && std::isnan(wanted))) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace relay::codegen_bfloat16_test
