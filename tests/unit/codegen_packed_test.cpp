// Contractions that read a packed operand: against direct evaluation, and to the bit against those
// that read the operand as it is.
#include <gtest/gtest.h>

#include <relay/lower/contraction_plan.h>
#include <relay/lower/packing.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/tensor_expr/builder.h>

#include <tests/unit/contraction_run.h>

namespace relay::codegen_packed_test {
namespace {

using codegen::Target;
using contraction_run::Case;
using contraction_run::check;
using contraction_run::evaluated;
using contraction_run::expect_equal;
using contraction_run::inputs_of;
using contraction_run::run_kernel;
using lower::PackedOperand;
using Side = PackedOperand::Side;
using te::Scalar;

/// Σ x · w with the columns of w (or the rows of x) packed in panels of `width` by hand; perhaps
/// with a batch, and with the folded axes as one.
struct Form {
  Side side = Side::kColumns;
  int64_t width = 16;
  int64_t batch = 1;
  bool flat = false;  // folded axes are one
  DType dtype = kFloat32, sum = kFloat32;
  std::vector<int64_t> split{};  // the packed axis as two
};

te::Computation packed_product(const Form& form, Dim m, Dim n, Dim k1, Dim k2) {
  const bool columns = form.side == Side::kColumns;
  Dim count = columns ? n : m;
  std::vector<Dim> packed{form.batch, ceil_div(count, form.width)};
  if (form.flat) {
    packed.push_back(k1 * k2);
  } else {
    packed.push_back(k1);
    packed.push_back(k2);
  }
  packed.push_back(form.width);
  std::vector<Dim> plain{form.batch, columns ? m : k1, columns ? k1 : k2, columns ? k2 : n};
  te::Builder b({{packed, form.dtype}, {plain, form.dtype}});
  std::vector<Dim> out{form.batch, m, n};
  if (!form.split.empty()) {
    out = columns ? std::vector<Dim>{form.batch, m, form.split[0], form.split[1]}
                  : std::vector<Dim>{form.batch, form.split[0], form.split[1], n};
  }
  b.output(b.map(out, [&](te::Indices i) {
    Scalar row = i[1], column = i.back();
    if (!form.split.empty()) {
      size_t first = columns ? 2 : 1;
      (columns ? column : row) = i[first] * form.split[1] + i[first + 1];
    }
    const std::vector<Dim> fold{k1, k2};
    return b.sum(fold, [&](te::Indices k) {
      const Scalar& at = columns ? column : row;
      Scalar width = te::index_constant(form.width);
      std::vector<Scalar> index{i[0], te::floor_div(at, width)};
      if (form.flat) {
        index.push_back(k[0] * te::from_dim(k2) + k[1]);
      } else {
        index.push_back(k[0]);
        index.push_back(k[1]);
      }
      index.push_back(te::floor_mod(at, width));
      Scalar left = te::cast(b.input(0)(index), form.sum);
      Scalar right = te::cast(
          columns ? b.input(1)({i[0], row, k[0], k[1]}) : b.input(1)({i[0], k[0], k[1], column}),
          form.sum);
      return columns ? right * left : left * right;
    });
  }));
  return b.finish();
}

lower::ContractionPlan plan_of(const te::Computation& computation,
                               const lower::Processor& processor) {
  return lower::plan_contraction(*contraction_of(computation), processor);
}

// Widths that tiles have and others; whole panels and not.
TEST(PackedContraction, Columns) {
  for (int64_t width : {8, 16, 64, 7, 200}) {
    for (int64_t n : {1, 17, 50, 64}) {
      for (int64_t m : {3, 19}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " in " +
                     std::to_string(width));
        check({packed_product({Side::kColumns, width}, m, n, 3, 5), {}, {}});
      }
    }
  }
}

TEST(PackedContraction, Rows) {
  for (int64_t width : {1, 6, 12, 40}) {
    for (int64_t m : {6, 13}) {
      for (int64_t n : {1, 49, 70}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " in " +
                     std::to_string(width));
        check({packed_product({Side::kRows, width}, m, n, 3, 5), {}, {}});
      }
    }
  }
}

TEST(PackedContraction, Forms) {
  for (Side side : {Side::kColumns, Side::kRows}) {
    const int64_t width = side == Side::kColumns ? 16 : 6;
    for (bool flat : {false, true}) {
      for (auto [dtype, sum] : {std::pair(kFloat32, kFloat32),
                                {kFloat64, kFloat64},
                                {kInt8, kInt32},
                                {kBFloat16, kFloat32},
                                {kInt32, kInt32}}) {
        SCOPED_TRACE(std::string(dtype.name()));
        check({packed_product({side, width, 3, flat, dtype, sum}, 13, 45, 4, 3), {}, {}});
        check({packed_product({side, width, 2, flat, dtype, sum, {3, 12}}, 36, 36, 4, 3), {}, {}});
      }
    }
  }
}

TEST(PackedContraction, Symbols) {
  TypeVarRef vars[] = {TypeVar::make("m", Kind::kShapeVar), TypeVar::make("n", Kind::kShapeVar),
                       TypeVar::make("k", Kind::kShapeVar)};
  Dim m = Dim::symbol(vars[0].get()), n = Dim::symbol(vars[1].get()),
      k = Dim::symbol(vars[2].get());
  for (Side side : {Side::kColumns, Side::kRows}) {
    for (auto values : {std::vector<int64_t>{17, 58, 33},
                        {1, 1, 1},
                        {3, 200, 0},
                        {0, 5, 5},
                        {5, 0, 5},
                        {40, 7, 3000},
                        {8, 49, 100}}) {
      SCOPED_TRACE(values[0]);
      const int64_t width = side == Side::kColumns ? 16 : 6;
      check({packed_product({side, width}, m, n, k, 2), {m, n, k}, values});
      // The shape of the packed factor is known as a rule.
      if (side == Side::kColumns) {
        check({packed_product({side, width}, m, 50, 7, 3), {m}, {values[0]}});
      } else {
        check({packed_product({side, width}, 50, n, 7, 3), {n}, {values[1]}});
      }
    }
  }
}

// Sums of many steps are kept in scratch between passes.
TEST(PackedContraction, LongSums) {
  check({packed_product({Side::kColumns, 16}, 9, 35, 6000, 2), {}, {}});
  check({packed_product({Side::kRows, 6}, 9, 35, 6000, 2), {}, {}});
}

// The form is seen, and tiles are as wide as panels.
lower::Processor with_vectors(int64_t bytes) {
  return {.vector_bytes = bytes, .registers = bytes == 64 ? 32 : 16};
}

TEST(PackedContraction, Plans) {
  for (int64_t bytes : {16, 32, 64}) {
    const lower::Processor processor = with_vectors(bytes);
    const int64_t lanes = bytes / 4;
    for (int64_t vectors : {1, 2, 3, 8}) {
      auto plan =
          plan_of(packed_product({Side::kColumns, vectors * lanes, 2}, 40, 200, 4, 5), processor);
      EXPECT_TRUE(plan.rhs_packed);
      EXPECT_FALSE(plan.copies_rhs());
      EXPECT_EQ(plan.panels.size, vectors);
      EXPECT_LE(plan.row_tiles.size, lower::tile_rows(kFloat32, processor, vectors));
    }
    // Blocks of 64 rows or a little more, all of one size or nearly.
    for (int64_t rows : {64, 128, 197}) {
      auto plan =
          plan_of(packed_product({Side::kColumns, 2 * lanes, 2}, rows, 4000, 40, 5), processor);
      const int64_t tiles = plan.row_tiles.pieces.as_int(), in_block = plan.tiles_in_block;
      const int64_t blocks = (tiles + in_block - 1) / in_block;
      EXPECT_LE((in_block - 1) * plan.row_tiles.size, 64);
      EXPECT_LT(in_block * blocks - tiles, blocks);
    }
    EXPECT_FALSE(
        plan_of(packed_product({Side::kColumns, 9 * lanes}, 40, 1000, 4, 5), processor).rhs_packed);
    EXPECT_FALSE(
        plan_of(packed_product({Side::kColumns, lanes + 1}, 40, 1000, 4, 5), processor).rhs_packed);
    for (int64_t rows : {2, 4, 6}) {
      auto plan = plan_of(packed_product({Side::kRows, rows}, 40, 200, 4, 5), processor);
      EXPECT_TRUE(plan.lhs_packed);
      EXPECT_FALSE(plan.copies_lhs());
      EXPECT_EQ(plan.row_tiles.size, rows);
      EXPECT_LE(rows, lower::tile_rows(kFloat32, processor, plan.panels.size));
    }
    EXPECT_FALSE(plan_of(packed_product({Side::kRows, 15}, 40, 200, 4, 5), processor).lhs_packed);
  }
}

// A left factor larger than the second cache is read once for as many columns as fit there beside
// some of its rows; one that fits, for fewer.
TEST(PackedContraction, BlocksOfColumns) {
  lower::Processor processor = with_vectors(32);
  processor.second_bytes = 512 << 10;
  auto bytes_of_block = [](const lower::ContractionPlan& plan, int64_t k) {
    const int64_t columns = plan.panels_in_block * plan.panel_columns();
    return (columns + plan.tiles_in_block * plan.row_tiles.size) * k * 4;
  };
  auto large = plan_of(packed_product({Side::kRows, 6}, 2048, 49, 32, 32), processor);
  EXPECT_TRUE(large.copies_rhs());
  EXPECT_EQ(Dim(large.panels_in_block), large.panels.pieces);
  EXPECT_LE(bytes_of_block(large, 1024), processor.second_bytes);
  auto longer = plan_of(packed_product({Side::kRows, 6}, 2048, 49, 64, 32), processor);
  EXPECT_EQ(longer.panels_in_block, 2);
  EXPECT_LE(bytes_of_block(longer, 2048), processor.second_bytes);
  auto small = plan_of(packed_product({Side::kRows, 6}, 96, 49, 32, 32), processor);
  EXPECT_EQ(small.panels_in_block, 1);

  const Case c{packed_product({Side::kRows, 6}, 403, 200, 4, 4), {}, {}};
  const std::vector<NDArray> inputs = inputs_of(c);
  const NDArray expected = evaluated(c, inputs);
  for (Target target : contraction_run::targets()) {
    SCOPED_TRACE(target.name());
    target.processor.second_bytes = 16 << 10;
    EXPECT_GT(plan_of(c.computation, target.processor).panels_in_block, 1);
    expect_equal(run_kernel(c, inputs, expected, target), expected);
  }
}

/// Numbers whose sums are rounded.
NDArray fractions(const NDArray& like, uint32_t seed) {
  if (!(like.dtype() == kFloat32)) return like;
  NDArray result = NDArray::empty(like.shape(), like.dtype());
  for (int64_t i = 0; i < result.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    static_cast<float*>(result.raw())[i] = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  return result;
}

/// `packing_of` packs input 1 of a computation, and nothing changes but the time it takes.
void check_packing(const te::Computation& computation, Side side, bool same_bits = true,
                   std::vector<Dim> symbols = {}, std::vector<int64_t> values = {}) {
  Case plain{computation, symbols, values};
  for (const Target& target : contraction_run::targets()) {
    SCOPED_TRACE(target.name());
    SCOPED_TRACE(computation.str());
    auto packed = lower::packing_of(
        computation, [](size_t input) { return input == 1; }, target.processor);
    ASSERT_TRUE(packed.has_value());
    EXPECT_EQ(packed->input, 1u);
    EXPECT_EQ(packed->side, side);
    EXPECT_FALSE(lower::reads_input(packed->computation, 1));
    EXPECT_FALSE(lower::packing_of(
                     packed->computation, [](size_t i) { return i == 1; }, target.processor)
                     .has_value());
    const auto plan = plan_of(packed->computation, target.processor);
    EXPECT_TRUE(side == Side::kColumns ? plan.rhs_packed : plan.lhs_packed);
    // Where nothing is packed, a few columns past the last vector are sums along k.
    const auto before = plan_of(computation, target.processor);
    const bool all_in_vectors = before.main_columns == before.columns.extent;
    Case after{packed->computation, symbols, values};
    Case packing{packed->packing, symbols, values};
    for (bool rounded : {false, true}) {
      std::vector<NDArray> inputs = inputs_of(plain);
      if (rounded) {
        for (NDArray& input : inputs) input = fractions(input, 7);
      }
      std::vector<NDArray> with_packed = inputs;
      with_packed.push_back(evaluated(packing, {inputs[1]}));
      NDArray expected = evaluated(plain, inputs);
      NDArray result = run_kernel(after, with_packed, expected, target);
      if (!rounded) {
        expect_equal(evaluated(after, with_packed), expected);
        expect_equal(result, expected);
      } else if (same_bits && all_in_vectors) {
        expect_equal(result, run_kernel(plain, inputs, expected, target));
      }
    }
  }
}

TypeRef tensor(std::vector<Dim> dims, DType dtype = kFloat32) {
  return TensorType::make(dims, dtype);
}

te::Computation dense(Dim m, Dim n, Dim k) {
  return computation_of("nn.dense", Attrs::make(DenseAttrs{}), {tensor({m, k}), tensor({n, k})});
}

TEST(PackedContraction, PackedWeights) {
  // Sums of few rows run along k if nothing is packed.
  for (int64_t m : {2, 3, 5, 8}) check_packing(dense(m, 100, 37), Side::kColumns, false);
  for (int64_t m : {9, 32, 96, 128}) check_packing(dense(m, 100, 37), Side::kColumns);
  TypeVarRef var = TypeVar::make("m", Kind::kShapeVar);
  Dim m = Dim::symbol(var.get());
  for (int64_t rows : {0, 1, 7, 40}) {
    check_packing(dense(m, 100, 37), Side::kColumns, rows > lower::kFewRows, {m}, {rows});
  }
  BatchMatmulAttrs attrs;
  attrs.transpose_b = false;
  check_packing(computation_of("nn.batch_matmul", Attrs::make(attrs),
                               {tensor({3, 20, 9}), tensor({3, 9, 50})}),
                Side::kColumns);
}

te::Computation conv(std::vector<Dim> data, std::vector<Dim> weight,
                     const std::function<void(Conv2DAttrs&)>& set = {}) {
  Conv2DAttrs attrs;
  if (set) set(attrs);
  return computation_of("nn.conv2d", Attrs::make(attrs), {tensor(data), tensor(weight)});
}

TEST(PackedContraction, PackedFilters) {
  auto padded = [](Conv2DAttrs& attrs) { attrs.padding = {1}; };
  check_packing(conv({2, 5, 8, 8}, {20, 5, 1, 1}), Side::kRows);
  check_packing(conv({1, 5, 9, 8}, {13, 5, 3, 3}, padded), Side::kRows);
  check_packing(conv({1, 6, 8, 8}, {14, 3, 3, 3}, [](Conv2DAttrs& attrs) { attrs.groups = 2; }),
                Side::kRows);
  auto channels_last = [](Conv2DAttrs& attrs) {
    attrs.data_layout = "NHWC";
    attrs.kernel_layout = "HWIO";
    attrs.padding = {1};
  };
  check_packing(conv({1, 9, 8, 5}, {3, 3, 5, 37}, channels_last), Side::kColumns, false);
  // The channels of a group are the columns.
  check_packing(conv({1, 9, 8, 6}, {3, 3, 3, 44},
                     [&](Conv2DAttrs& attrs) {
                       channels_last(attrs);
                       attrs.groups = 2;
                     }),
                Side::kColumns, false);
}

// Taps that a step does not divide: those that are not there are zeros in panels.
TEST(PackedContraction, PackedFiltersOfSteps) {
  for (const int64_t channels : {12, 13}) {
    Conv2DTransposeAttrs attrs;
    attrs.strides = {2};
    attrs.padding = {1};
    attrs.output_padding = {1};
    check_packing(computation_of("nn.conv2d_transpose", Attrs::make(attrs),
                                 {tensor({2, 5, 7, 6}), tensor({5, channels, 3, 3})}),
                  Side::kRows);
  }
}

TEST(PackedContraction, NotPacked) {
  auto any = [](const te::Computation& c, size_t input, int64_t bytes = 32) {
    return lower::packing_of(
               c, [=](size_t i) { return i == input; }, with_vectors(bytes))
        .has_value();
  };
  EXPECT_TRUE(any(dense(32, 64, 64), 1));
  EXPECT_FALSE(any(dense(32, 64, 64), 2));  // there is no such input
  EXPECT_FALSE(any(dense(32, 3, 64), 1));   // vectors would be empty
  EXPECT_FALSE(any(dense(0, 64, 64), 1));
  // Each weight is read once: it is packed where it stays in a cache.
  EXPECT_TRUE(any(dense(1, 64, 64), 1));
  EXPECT_TRUE(any(dense(1, 2048, 1024), 1));
  EXPECT_FALSE(any(dense(1, 2049, 1024), 1));
  te::Builder b({{{40, 40}, kFloat32}});
  std::vector<Dim> shape{40, 40}, fold{40};
  b.output(b.map(shape, [&](te::Indices i) {
    return b.sum(fold, [&](te::Indices k) {
      return b.input(0)({i[0], k[0]}) * b.input(0)({k[0], i[1]});
    });
  }));
  EXPECT_FALSE(any(b.finish(), 0));  // both factors
  te::Builder beside({{{40, 40}, kFloat32}, {{40, 40}, kFloat32}});
  beside.output(beside.map(shape, [&](te::Indices i) {
    return beside.sum(fold, [&](te::Indices k) {
      te::Scalar other = beside.input(0)({i[0], k[0]}) * beside.input(1)({i[0], k[0]});
      return other * beside.input(1)({i[1], k[0]});
    });
  }));
  EXPECT_FALSE(any(beside.finish(), 1));  // the other factor reads it, too, beside something else
}

}  // namespace
}  // namespace relay::codegen_packed_test
