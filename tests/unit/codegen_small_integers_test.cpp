// Products of small integers, several steps of k in one instruction, against direct evaluation: on
// all instruction sets, with numbers from the whole range of their dtypes.
#include <gtest/gtest.h>

#include <relay/lower/contraction_plan.h>
#include <relay/lower/packing.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>

#include <tests/unit/contraction_run.h>

namespace relay::codegen_small_integers_test {
namespace {

using contraction_run::Case;
using contraction_run::evaluated;
using contraction_run::expect_equal;
using contraction_run::run_kernel;
using contraction_run::targets;

TypeRef tensor(std::vector<Dim> dims, DType dtype) { return TensorType::make(dims, dtype); }

// Every fourth number is an end of the range, where sums of products would saturate.
NDArray any_numbers(const te::TensorInfo& info, uint32_t seed) {
  std::vector<int64_t> shape;
  for (Dim dim : info.dims) shape.push_back(dim.as_int());
  NDArray result = NDArray::empty(shape, info.dtype);
  dispatch(info.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < result.size(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      int64_t value = static_cast<int32_t>(seed) >> 12;
      if (seed >> 30 == 0) value = (seed >> 29 & 1) != 0 ? 32767 + 255 : -32768;
      static_cast<T*>(result.raw())[i] = convert_element<T>(value);
    }
  });
  return result;
}

std::vector<NDArray> any_inputs(const te::Computation& computation) {
  std::vector<NDArray> inputs;
  for (const te::TensorInfo& info : computation.inputs)
    inputs.push_back(any_numbers(info, static_cast<uint32_t>(inputs.size() + 1)));
  return inputs;
}

void check(const te::Computation& computation, int64_t group) {
  const lower::Contraction contraction = *contraction_of(computation);
  for (const codegen::Target& target : targets())
    EXPECT_EQ(lower::plan_contraction(contraction, target.processor).group, group) << target.name();
  contraction_run::check({computation, {}, {}}, any_inputs(computation));
}

te::Computation product(Dim m, int64_t n, int64_t k, DType left, DType right,
                        bool transpose_a = false, bool transpose_b = false, int64_t batch = 2) {
  BatchMatmulAttrs attrs;
  attrs.transpose_a = transpose_a;
  attrs.transpose_b = transpose_b;
  attrs.out_dtype = kInt32;
  std::vector<Dim> a{batch, m, k}, b{batch, k, n};
  if (transpose_a) std::swap(a[1], a[2]);
  if (transpose_b) std::swap(b[1], b[2]);
  return computation_of("nn.batch_matmul", Attrs::make(attrs), {tensor(a, left), tensor(b, right)});
}

te::Computation conv(std::vector<Dim> data, std::vector<Dim> weight, DType data_type,
                     DType weight_type, const std::function<void(Conv2DAttrs&)>& set = {}) {
  Conv2DAttrs attrs;
  attrs.out_dtype = kInt32;
  if (set) set(attrs);
  return computation_of("nn.conv2d", Attrs::make(attrs),
                        {tensor(data, data_type), tensor(weight, weight_type)});
}

TEST(SmallIntegers, DtypesAndGroups) {
  for (auto [left, right, group] : {std::tuple{kUInt8, kInt8, 4},
                                    {kInt8, kUInt8, 4},
                                    {kInt8, kInt8, 4},
                                    {kUInt8, kUInt8, 4},
                                    {kInt16, kInt16, 2},
                                    {kInt16, kInt8, 2},
                                    {kUInt8, kInt16, 2},
                                    {kInt16, kUInt16, 1},
                                    {kInt32, kInt8, 1}}) {
    for (bool transposed : {false, true}) {
      SCOPED_TRACE(std::string(left.name()) + " " + std::string(right.name()));
      check(product(17, 35, 19, left, right, false, transposed), group);
    }
  }
}

TEST(SmallIntegers, Products) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{7, 16, 4},
                         {17, 58, 33},
                         {3, 1, 17},
                         {1, 17, 3},
                         {58, 130, 64},
                         {1, 300, 100},
                         {70, 40, 130},
                         {2, 5, 1},
                         {0, 3, 5},
                         {3, 5, 0}}) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
        check(product(m, n, k, kUInt8, kInt8, ta, tb), 4);
        check(product(m, n, k, kInt16, kInt16, ta, tb), 2);
      }
    }
  }
}

TEST(SmallIntegers, Convolutions) {
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
  for (DType data : {kUInt8, kInt8, kInt16}) {
    const int64_t group = data == kInt16 ? 2 : 4;
    check(conv({2, 5, 8, 8}, {20, 5, 1, 1}, data, kInt8), group);
    check(conv({2, 8, 6, 7}, {20, 8, 1, 1}, data, kInt8), group);
    check(conv({1, 5, 9, 8}, {13, 5, 3, 3}, data, kInt8, padded), group);
    // Panels of four vectors of columns, and of three.
    check(conv({2, 7, 13, 15}, {13, 7, 3, 3}, data, kInt8, padded), group);
    check(conv({1, 4, 8, 8}, {5, 4, 3, 3}, data, kInt8, padded), group);
    check(conv({1, 3, 19, 21}, {13, 3, 7, 7}, data, kInt8, strided), group);
    check(conv({1, 6, 8, 8}, {14, 3, 3, 3}, data, kInt8, grouped), group);
    check(conv({1, 9, 8, 5}, {3, 3, 5, 37}, data, kInt8, last), group);
    check(conv({1, 16, 2, 3}, {70, 16, 2, 2}, data, kInt8), group);
  }
}

// A few columns more than whole vectors are vectors along k.
TEST(SmallIntegers, ColumnsLeftOver) {
  auto padded = [](Conv2DAttrs& attrs) { attrs.padding = {1}; };
  for (auto [data, weight] :
       {std::pair{kUInt8, kInt8}, {kInt8, kUInt8}, {kInt8, kInt8}, {kInt16, kInt16}}) {
    for (int64_t width : {7, 10}) {  // 49 and 50 columns are left over after 48
      SCOPED_TRACE(std::string(data.name()) + " " + std::string(weight.name()));
      const int64_t height = width == 7 ? 7 : 5;
      const te::Computation c = conv({2, 17, height, width}, {200, 17, 3, 3}, data, weight, padded);
      for (const codegen::Target& target : targets()) {
        const auto plan = lower::plan_contraction(*contraction_of(c), target.processor);
        // Vectors of four lanes are so cheap that one more is taken.
        if (plan.lanes < 8) continue;
        EXPECT_EQ(plan.tail, plan.matrix ? 0 : height * width % plan.lanes) << target.name();
      }
      check(c, data == kInt16 ? 2 : 4);
    }
  }
}

// Enough for tiles of a matrix unit: of one and two strips of rows, which may overlap, with steps
// of k that are whole, shorter, or followed by groups for vectors.
TEST(SmallIntegers, LargeProducts) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{16, 16, 64},
                         {8, 40, 64},
                         {13, 20, 100},
                         {32, 64, 128},
                         {33, 40, 144},
                         {20, 70, 300},
                         {49, 35, 37},
                         {65, 33, 259}}) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
    for (auto [left, right] :
         {std::pair{kUInt8, kInt8}, {kInt8, kUInt8}, {kInt8, kInt8}, {kUInt8, kUInt8}}) {
      check(product(m, n, k, left, right), 4);
      check(product(m, n, k, left, right, true, true), 4);
    }
  }
}

// However many rows there are at run time.
TEST(SmallIntegers, OpenRows) {
  const TypeVarRef var = TypeVar::make("m", Kind::kShapeVar);
  const Dim m = Dim::symbol(var.get());
  for (bool turned : {false, true}) {
    const te::Computation computation = product(m, 40, 68, kUInt8, kInt8, turned, false, 1);
    for (int64_t rows : {1, 7, 15, 16, 17, 31, 32, 33, 47, 48, 50, 70}) {
      SCOPED_TRACE(std::to_string(rows) + " rows");
      contraction_run::check({computation, {m}, {rows}},
                             any_inputs(product(rows, 40, 68, kUInt8, kInt8, turned, false, 1)));
    }
  }
}

// Constant weights in groups of k, by the form that packing gives them.
TEST(SmallIntegers, PackedWeights) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{9, 100, 37}, {64, 64, 64}, {2, 130, 12}}) {
    for (bool transposed : {false, true}) {
      for (DType left : {kUInt8, kInt8}) {
        const te::Computation plain = product(m, n, k, left, kInt8, false, transposed, 1);
        const std::vector<NDArray> inputs = any_inputs(plain);
        const NDArray expected = evaluated({plain, {}, {}}, inputs);
        for (const codegen::Target& target : targets()) {
          SCOPED_TRACE(target.name());
          auto packed = lower::packing_of(
              plain, [](size_t input) { return input == 1; }, target.processor);
          ASSERT_TRUE(packed.has_value());
          EXPECT_EQ(packed->packing.outputs.size(), 1u);
          std::vector<NDArray> all = inputs;
          all.push_back(te::evaluate(packed->packing, {&inputs[1], 1}, {})[0]);
          EXPECT_EQ(all.back().shape().back(), 4);
          const Case c{packed->computation, {}, {}};
          const auto plan =
              lower::plan_contraction(*contraction_of(c.computation), target.processor);
          EXPECT_TRUE(plan.rhs_packed);
          EXPECT_EQ(plan.group, 4);
          expect_equal(evaluated(c, all), expected);
          expect_equal(run_kernel(c, all, expected, target), expected);
        }
      }
    }
  }
}

// Rows of weights are read where they are.
TEST(SmallIntegers, FiltersAreNotPacked) {
  const te::Computation c = conv({1, 5, 9, 8}, {13, 5, 3, 3}, kUInt8, kInt8);
  for (int64_t bytes : {16, 32, 64}) {
    const lower::Processor processor{.vector_bytes = bytes, .registers = bytes == 64 ? 32 : 16};
    EXPECT_FALSE(lower::packing_of(
                     c, [](size_t input) { return input == 1; }, processor)
                     .has_value());
    EXPECT_TRUE(lower::plan_contraction(*contraction_of(c), processor).lhs_direct);
  }
}

// The instruction is in the code where the target has it, and not elsewhere.
TEST(SmallIntegers, Instructions) {
  auto text_of = [](const char* name, DType left, DType right) {
    auto kernel = std::make_shared<lower::Kernel>();
    kernel->name = "test";
    kernel->implementation = "contraction";
    kernel->body = *contraction_of(product(32, 64, 64, left, right));
    return codegen::emit_text(*kernel, codegen::Target::parse(name), codegen::Text::kAssembly);
  };
  for (const char* name : {"avx2-vnni", "avx512-vnni"}) {
    SCOPED_TRACE(name);
    EXPECT_NE(text_of(name, kUInt8, kInt8).find("vpdpbusd"), std::string::npos);
    EXPECT_NE(text_of(name, kInt8, kUInt8).find("vpdpbusd"), std::string::npos);
    EXPECT_NE(text_of(name, kInt16, kInt16).find("vpdpwssd"), std::string::npos);
    EXPECT_NE(text_of(name, kInt8, kInt8).find("pmaddwd"), std::string::npos);
  }
  EXPECT_NE(text_of("avx512-amx", kUInt8, kInt8).find("tdpbusd"), std::string::npos);
  EXPECT_NE(text_of("avx512-amx", kInt8, kUInt8).find("tdpbsud"), std::string::npos);
  EXPECT_NE(text_of("avx512-amx", kInt8, kInt8).find("tdpbssd"), std::string::npos);
  EXPECT_NE(text_of("avx512-amx", kUInt8, kUInt8).find("tdpbuud"), std::string::npos);
  EXPECT_NE(text_of("aarch64", kUInt8, kInt8).find("smull"), std::string::npos);
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    SCOPED_TRACE(name);
    const std::string text = text_of(name, kUInt8, kInt8);
    EXPECT_EQ(text.find("vpdp"), std::string::npos);
    EXPECT_NE(text.find("pmaddwd"), std::string::npos);
  }
}

}  // namespace
}  // namespace relay::codegen_small_integers_test
