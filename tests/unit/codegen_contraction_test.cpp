// Generated contractions against direct evaluation: odd shapes, dtypes, layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include <relay/codegen/codegen.h>
#include <relay/lower/contraction_plan.h>
#include <relay/lower/packing.h>
#include <relay/lower/prepare.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/tensor_expr/builder.h>

#include <tests/unit/contraction_run.h>

namespace relay::codegen_contraction_test {
namespace {

using codegen::Target;
using contraction_run::check;
using te::Indices;
using te::Scalar;

TypeRef tensor(std::vector<Dim> dims, DType dtype = kFloat32) {
  return TensorType::make(dims, dtype);
}

void check_product(int64_t m, int64_t n, int64_t k, bool ta, bool tb, DType dtype = kFloat32) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
               (ta ? " ta" : "") + (tb ? " tb" : "") + " " + std::string(dtype.name()));
  BatchMatmulAttrs attrs;
  attrs.transpose_a = ta;
  attrs.transpose_b = tb;
  std::vector<Dim> a{2, m, k}, b{2, k, n};
  if (ta) std::swap(a[1], a[2]);
  if (tb) std::swap(b[1], b[2]);
  check(
      {computation_of("nn.batch_matmul", Attrs::make(attrs), {tensor(a, dtype), tensor(b, dtype)}),
       {},
       {}});
}

TEST(ContractionKernel, Products) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{7, 16, 5},
                         {17, 58, 33},
                         {3, 1, 17},
                         {1, 17, 3},
                         {58, 130, 64},
                         {1, 300, 100},
                         {0, 3, 5},
                         {3, 0, 5},
                         {3, 5, 0}}) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) check_product(m, n, k, ta, tb);
    }
  }
}

TEST(ContractionKernel, Dtypes) {
  for (DType dtype : {kFloat64, kInt32, kFloat16, kBFloat16}) {
    for (bool tb : {false, true}) check_product(17, 35, 19, false, tb, dtype);
  }
}

template <class A>
void check_conv(const char* op, std::vector<Dim> data, std::vector<Dim> weight,
                const std::function<void(A&)>& set = {}, DType dtype = kFloat32) {
  A attrs;
  if (set) set(attrs);
  std::string name = op;
  for (Dim dim : data) name += " " + dim.str();
  name += ",";
  for (Dim dim : weight) name += " " + dim.str();
  SCOPED_TRACE(name);
  check({computation_of(op, Attrs::make(attrs), {tensor(data, dtype), tensor(weight, dtype)}),
         {},
         {}});
}

using Conv2 = Conv2DAttrs;

TEST(ContractionKernel, Pointwise) {
  check_conv<Conv2>("nn.conv2d", {1, 300, 8, 8}, {20, 300, 1, 1});
  check_conv<Conv2>("nn.conv2d", {2, 17, 7, 7}, {58, 17, 1, 1});
  check_conv<Conv2>("nn.conv2d", {1, 3, 1, 1}, {17, 3, 1, 1});
  check_conv<Conv2>("nn.conv2d", {1, 16, 9, 9}, {8, 16, 1, 1}, [](auto& a) { a.strides = {2, 2}; });
}

TEST(ContractionKernel, Windows) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t dilation : {1, 2}) {
      for (int64_t padding : {0, 1, 2}) {
        check_conv<Conv2>("nn.conv2d", {2, 3, 11, 13}, {17, 3, 3, 2}, [&](auto& a) {
          a.strides = {stride, stride};
          a.dilation = {dilation, 1};
          a.padding = {padding, padding};
        });
      }
    }
  }
  check_conv<Conv2>("nn.conv2d", {1, 5, 58, 58}, {3, 5, 3, 3}, [](auto& a) { a.padding = {1}; });
  check_conv<Conv2>("nn.conv2d", {1, 3, 30, 30}, {16, 3, 7, 7}, [](auto& a) {
    a.padding = {3};
    a.strides = {2};
  });
}

// Lines of whole vectors and step 2: neighbouring taps share loads away from the ends of the
// tensor.
TEST(ContractionKernel, WindowsOfStepTwo) {
  constexpr int64_t kLine = 16;
  for (int64_t taps = 2; taps <= 9; ++taps) {
    for (int64_t padding = 0; padding < std::min<int64_t>(taps, 4); ++padding) {
      const int64_t width = 2 * (kLine - 1) + taps - 2 * padding + taps % 2;
      check_conv<Conv2>("nn.conv2d", {2, 3, 9, width}, {7, 3, 3, taps}, [&](auto& a) {
        a.padding = {1, padding};
        a.strides = {2};
      });
    }
  }
  for (DType dtype : {kFloat64, kFloat16, kInt32}) {
    check_conv<Conv2>(
        "nn.conv2d", {1, 3, 32, 32}, {7, 3, 3, 3},
        [](auto& a) {
          a.padding = {1};
          a.strides = {2};
        },
        dtype);
  }
}

// Padding that leaves the size as it is: columns lie side by side, and places of small windows are
// written out.
TEST(ContractionKernel, WindowsOfTheSameSize) {
  for (const auto& window :
       {std::array<int64_t, 2>{3, 3}, {1, 7}, {7, 1}, {1, 9}, {3, 1}, {5, 5}, {1, 11}}) {
    for (int64_t channels : {1, 3, 40}) {
      check_conv<Conv2>("nn.conv2d", {2, channels, 11, 13}, {9, channels, window[0], window[1]},
                        [&](auto& a) {
                          a.padding = {window[0] / 2, window[1] / 2};
                        });
    }
  }
  check_conv<Conv2>("nn.conv2d", {1, 20, 9, 30}, {9, 20, 3, 3}, [](auto& a) {
    a.padding = {2};
    a.dilation = {2};
  });
  check_conv<Conv2>("nn.conv2d", {1, 20, 9, 30}, {9, 20, 2, 4}, [](auto& a) {
    a.padding = {0, 3, 1, 0};
  });
  for (DType dtype : {kFloat64, kFloat16, kInt32}) {
    check_conv<Conv2>(
        "nn.conv2d", {1, 20, 9, 30}, {7, 20, 3, 3}, [](auto& a) { a.padding = {1}; }, dtype);
  }
}

// Places in a window that int32 does not hold.
TEST(ContractionKernel, WindowsFarOutside) {
  constexpr int64_t kFar = int64_t{1} << 32;
  check_conv<Conv2>("nn.conv2d", {1, 1, 1, 8}, {3, 1, 1, 2}, [](auto& a) {
    a.padding = {0, kFar, 0, kFar};
    a.dilation = {1, 2 * kFar};
  });
  check_conv<Conv2>("nn.conv2d", {1, 4, 3, 40}, {3, 4, 1, 2}, [](auto& a) {
    a.padding = {0, kFar, 0, 0};
    a.dilation = {1, kFar};
  });
  check_conv<Conv2>("nn.conv2d", {1, 1, 1, 8}, {3, 1, 1, 1}, [](auto& a) {
    a.padding = {0, kFar, 0, 0};
    a.strides = {1, kFar};
  });
  check_conv<Conv2>("nn.conv2d", {1, 3, 8, 2}, {2, 1, 2, 3}, [](auto& a) {
    a.data_layout = "NHWC";
    a.kernel_layout = "HWIO";
    a.padding = {kFar, 0, kFar, 0};
    a.dilation = {2 * kFar, 1};
  });
}

TEST(ContractionKernel, Ranks) {
  check_conv<Conv1DAttrs>("nn.conv1d", {2, 3, 58}, {5, 3, 3}, [](auto& a) { a.padding = {1}; });
  check_conv<Conv3DAttrs>("nn.conv3d", {1, 3, 5, 6, 7}, {4, 3, 2, 3, 3},
                          [](auto& a) { a.padding = {1}; });
}

TEST(ContractionKernel, Groups) {
  for (int64_t groups : {2, 3}) {
    check_conv<Conv2>("nn.conv2d", {2, groups * 3, 9, 8}, {groups * 5, 3, 3, 3}, [&](auto& a) {
      a.groups = groups;
      a.padding = {1};
    });
  }
  check_conv<Conv2>("nn.conv2d", {1, 6, 9, 8}, {30, 1, 3, 3}, [](auto& a) { a.groups = 6; });
}

TEST(ContractionKernel, Layouts) {
  auto nhwc = [](auto& a) {
    a.data_layout = "NHWC";
    a.kernel_layout = "HWIO";
    a.padding = {1};
    a.strides = {2};
  };
  check_conv<Conv2>("nn.conv2d", {2, 11, 9, 17}, {3, 3, 17, 35}, nhwc);
  check_conv<Conv2>("nn.conv2d", {2, 11, 9, 3}, {3, 3, 3, 8}, nhwc);
}

// Rows whose elements follow each other through several axes: to both ends of a line, past them, in
// lines of their own.
TEST(ContractionKernel, RowsOfWindows) {
  struct Window {
    int64_t height, width, stride, dilation;
    decltype(Conv2::padding) padding;
  };
  const Window windows[] = {{7, 7, 2, 1, {3}},          {3, 5, 1, 1, {1, 2}},  {3, 3, 1, 2, {2}},
                            {2, 3, 1, 1, {0, 2, 1, 0}}, {3, 12, 1, 1, {1, 0}}, {9, 12, 1, 1, {0}},
                            {1, 4, 3, 1, {0, 9, 0, 9}}};
  for (const Window& window : windows) {
    for (int64_t channels : {1, 2, 3, 17}) {
      auto set = [&](auto& a) {
        a.data_layout = "NHWC";
        a.kernel_layout = "HWIO";
        a.strides = {window.stride};
        a.dilation = {window.dilation};
        a.padding = window.padding;
      };
      check_conv<Conv2>("nn.conv2d", {2, 9, 12, channels},
                        {window.height, window.width, channels, 35}, set);
      if (channels != 3) continue;
      for (DType dtype : {kFloat64, kFloat16, kInt32}) {
        check_conv<Conv2>("nn.conv2d", {1, 9, 12, channels},
                          {window.height, window.width, channels, 19}, set, dtype);
      }
    }
  }
}

TEST(ContractionKernel, Transposed) {
  using T = Conv2DTransposeAttrs;
  check_conv<T>("nn.conv2d_transpose", {1, 3, 7, 9}, {3, 5, 3, 3});
  check_conv<T>("nn.conv2d_transpose", {2, 3, 7, 9}, {3, 5, 4, 4}, [](auto& a) {
    a.strides = {2};
    a.padding = {1};
  });
  check_conv<T>("nn.conv2d_transpose", {1, 3, 7, 9}, {3, 5, 3, 3}, [](auto& a) {
    a.strides = {2};
    a.padding = {1};
    a.output_padding = {1, 1};
  });
  check_conv<T>("nn.conv2d_transpose", {1, 3, 7, 9}, {3, 5, 3, 3}, [](auto& a) {
    a.strides = {2};
    a.dilation = {2};
  });
  check_conv<T>("nn.conv2d_transpose", {1, 6, 7, 9}, {6, 2, 2, 2}, [](auto& a) {
    a.strides = {2};
    a.groups = 3;
  });
}

TEST(ContractionKernel, IntegerConvolution) {
  Conv2DAttrs attrs;
  attrs.out_dtype = kInt32;
  attrs.padding = {1};
  check({computation_of("nn.conv2d", Attrs::make(attrs),
                        {tensor({1, 5, 9, 9}, kUInt8), tensor({6, 5, 3, 3}, kInt8)}),
         {},
         {}});
}

// relu(x · wᵀ + bias + residual), the bias along rows or columns.
te::Computation with_epilogue(Dim m, Dim n, Dim k, bool bias_of_rows, bool heavy) {
  te::Builder b({{{m, k}, kFloat32},
                 {{k, n}, kFloat32},
                 {{bias_of_rows ? m : n}, kFloat32},
                 {{m, n}, kFloat32}});
  te::Tensor x = b.input(0), w = b.input(1), bias = b.input(2), residual = b.input(3);
  std::vector<Dim> out{m, n}, fold{k};
  b.output(b.map(out, [&](Indices i) {
    Scalar sum = b.sum(fold, [&](Indices j) { return x({i[0], j[0]}) * w({j[0], i[1]}); });
    Scalar value = sum + bias({bias_of_rows ? i[0] : i[1]}) + residual(i);
    for (int turn = 0; heavy && turn < 10; ++turn) value = value + te::max(sum, value * 0.5);
    return te::max(value, te::constant(0.0, kFloat32));
  }));
  return b.finish();
}

TEST(ContractionKernel, Epilogues) {
  for (bool rows : {false, true}) {
    for (bool heavy : {false, true}) {
      SCOPED_TRACE(heavy);
      check({with_epilogue(17, 58, 5, rows, heavy), {}, {}});
      check({with_epilogue(3, 160, 1, rows, heavy), {}, {}});
    }
  }
}

TEST(ContractionKernel, LongSums) {
  check({with_epilogue(9, 35, 12000, true, false), {}, {}});
  check_conv<Conv2>("nn.conv2d", {1, 1300, 5, 5}, {7, 1300, 3, 3},
                    [](auto& a) { a.padding = {1}; });
  // Rows that are copied, a part of them in each pass.
  check_product(17, 35, 12000, false, false, kFloat16);
  check_conv<Conv2>("nn.conv2d", {1, 5, 5, 1300}, {3, 3, 1300, 35}, [](auto& a) {
    a.data_layout = "NHWC";
    a.kernel_layout = "HWIO";
    a.padding = {1};
  });
}

// The gradient of a weight: rows that are copied for several panels, in passes over an axis that is
// not the first one.
TEST(ContractionKernel, RowsOfSeveralPanels) {
  auto set = [](auto& a) {
    a.data_layout = "CNHW";
    a.kernel_layout = "IHWO";
    a.out_layout = "NHWC";
    a.padding = {1};
  };
  check_conv<Conv2>("nn.conv2d", {3, 9, 40, 40}, {3, 40, 40, 72}, set);
  check_conv<Conv2>("nn.conv2d", {2, 5, 9, 40}, {2, 9, 40, 350}, set);
  check_conv<Conv2>("nn.conv2d", {3, 2, 41, 40}, {3, 21, 20, 72}, [&](auto& a) {
    set(a);
    a.dilation = {2};
  });
}

// Few rows read the right factor where it is, some of its rows at a time.
TEST(ContractionKernel, FewRows) {
  for (int64_t m : {1, 2, 5, 7, 12, 18, 19}) {
    for (auto [n, k] : {std::array<int64_t, 2>{64, 128}, {300, 130}, {17, 300}, {3, 200}}) {
      check_product(m, n, k, false, false);
    }
    SCOPED_TRACE(m);
    check({with_epilogue(m, 70, 200, true, true), {}, {}});
  }
  for (DType dtype : {kFloat64, kInt32, kBFloat16}) check_product(5, 70, 160, false, false, dtype);
  TypeVarRef var = TypeVar::make("m", Kind::kShapeVar);
  Dim m = Dim::symbol(var.get());
  for (int64_t rows : {0, 1, 7, 8, 9, 40}) {
    SCOPED_TRACE(rows);
    check({with_epilogue(m, 100, 160, false, false), {m}, {rows}});
  }
}

// One column, which looks like an operand packed in panels of one row: both factors lie along k,
// and so do the vectors.
TEST(ContractionKernel, OneColumn) {
  TypeVarRef vars[] = {TypeVar::make("b", Kind::kShapeVar), TypeVar::make("m", Kind::kShapeVar)};
  const Dim b = Dim::symbol(vars[0].get()), m = Dim::symbol(vars[1].get());
  const AttrsRef none = Attrs::make(BatchMatmulAttrs{});
  for (auto [batch, rows] : {std::array<Dim, 2>{3, 21}, {b, m}}) {
    const te::Computation product = computation_of(
        "nn.batch_matmul", none, {tensor({batch, rows, 37}), tensor({batch, 37, 1})});
    const auto contraction = lower::contraction_of(lower::prepare(product), 0);
    ASSERT_TRUE(contraction.has_value());
    for (const char* name : {"avx512", "avx2", "baseline"}) {
      EXPECT_TRUE(lower::plan_contraction(*contraction, Target::parse(name).processor).dots)
          << name;
    }
    for (int64_t count : {1, 8, 21}) check({product, {b, m}, {3, count}});
  }
}

TEST(ContractionKernel, Symbols) {
  TypeVarRef vars[] = {TypeVar::make("m", Kind::kShapeVar), TypeVar::make("n", Kind::kShapeVar),
                       TypeVar::make("k", Kind::kShapeVar)};
  Dim m = Dim::symbol(vars[0].get()), n = Dim::symbol(vars[1].get()),
      k = Dim::symbol(vars[2].get());
  for (auto values : {std::vector<int64_t>{17, 58, 33},
                      {1, 1, 1},
                      {3, 200, 0},
                      {0, 5, 5},
                      {129, 7, 12345},
                      {8, 49, 100}}) {
    SCOPED_TRACE(values[0]);
    check({with_epilogue(m, n, k, true, false), {m, n, k}, values});
    BatchMatmulAttrs attrs;
    attrs.transpose_b = true;
    check({computation_of("nn.batch_matmul", Attrs::make(attrs),
                          {tensor({2, m, k}), tensor({2, n, k})}),
           {m, n, k},
           values});
  }
  Conv2DAttrs attrs;
  attrs.padding = {1};
  for (int64_t size : {1, 3, 17}) {
    check({computation_of("nn.conv2d", Attrs::make(attrs),
                          {tensor({m, 3, n, n}), tensor({5, 3, 3, 3})}),
           {m, n},
           {2, size}});
  }
}

/// Loops without loops in them that multiply and add: their lines.
std::vector<std::vector<std::string>> inner_products(const std::string& assembly) {
  std::vector<std::string> lines;
  std::istringstream stream(assembly);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::map<std::string, size_t> labels;
  std::vector<std::vector<std::string>> loops;
  size_t last_end = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.rfind(".LBB", 0) == 0) labels[line.substr(0, line.find(':'))] = i;
    size_t jump = line.find("\tj");
    size_t target = line.find(".LBB");
    if (jump != 0 || target == std::string::npos) continue;
    auto label = labels.find(line.substr(target));
    if (label == labels.end() || label->second < last_end) continue;
    last_end = i;
    std::vector<std::string> body(lines.begin() + static_cast<std::ptrdiff_t>(label->second),
                                  lines.begin() + static_cast<std::ptrdiff_t>(i));
    auto multiplies = std::count_if(body.begin(), body.end(), [](const std::string& text) {
      return text.find("vfmadd") != std::string::npos || text.find("\tmulps") != std::string::npos;
    });
    if (multiplies >= 4) loops.push_back(std::move(body));
  }
  return loops;
}

/// With `packed`, of the computation that reads its input 1 packed for the target.
void check_inner_loops(const te::Computation& computation, bool packed = false) {
  for (const char* name : {"avx512", "avx2", "baseline"}) {
    SCOPED_TRACE(name);
    const Target target = Target::parse(name);
    te::Computation c = computation;
    if (packed) {
      auto operand = lower::packing_of(
          computation, [](size_t input) { return input == 1; }, target.processor);
      ASSERT_TRUE(operand.has_value());
      c = operand->computation;
    }
    auto kernel = std::make_shared<lower::Kernel>();
    kernel->name = "test";
    kernel->implementation = "contraction";
    kernel->body = *contraction_of(c);
    std::string text = codegen::emit_text(*kernel, target, codegen::Text::kAssembly);
    const bool has_frame = text.find("movq\t%rsp, %rbp") != std::string::npos;
    // A value that lives across the loops leaves its registers to them.
    if (target.isa != Target::Isa::kBaseline) {
      EXPECT_NE(text.find("callq\tclear_vectors"), std::string::npos);
    }
    auto loops = inner_products(text);
    EXPECT_FALSE(loops.empty());
    for (const auto& loop : loops) {
      for (const std::string& line : loop) {
        EXPECT_EQ(line.find("%rsp)"), std::string::npos) << line;
        if (has_frame) {
          EXPECT_EQ(line.find("%rbp)"), std::string::npos) << line;
        }
      }
    }
  }
}

// The sums stay in registers.
TEST(ContractionKernel, NoStackInInnerLoops) {
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{128, 768, 768}, {17, 58, 33}, {1, 1000, 2048}, {3, 1000, 100}}) {
    SCOPED_TRACE(m);
    check_inner_loops(
        computation_of("nn.dense", Attrs::make(DenseAttrs{}), {tensor({m, k}), tensor({n, k})}));
  }
  Conv2DAttrs attrs;
  attrs.padding = {1};
  for (int64_t size : {7, 14, 58}) {
    SCOPED_TRACE(size);
    check_inner_loops(computation_of("nn.conv2d", Attrs::make(attrs),
                                     {tensor({1, 64, size, size}), tensor({64, 64, 3, 3})}));
  }
  attrs.strides = {2};
  attrs.padding = {3};
  check_inner_loops(computation_of("nn.conv2d", Attrs::make(attrs),
                                   {tensor({1, 3, 224, 224}), tensor({64, 3, 7, 7})}));
  check_inner_loops(with_epilogue(512, 49, 256, true, false));
  check_inner_loops(with_epilogue(128, 768, 256, false, true));
}

TEST(ContractionKernel, NoStackInInnerLoopsOfPackedOperands) {
  for (int64_t m : {2, 3, 5, 8, 32, 128}) {
    SCOPED_TRACE(m);
    check_inner_loops(computation_of("nn.dense", Attrs::make(DenseAttrs{}),
                                     {tensor({m, 768}), tensor({1000, 768})}),
                      true);
  }
  Conv2DAttrs attrs;
  for (int64_t size : {14, 56}) {
    SCOPED_TRACE(size);
    check_inner_loops(computation_of("nn.conv2d", Attrs::make(attrs),
                                     {tensor({1, 64, size, size}), tensor({130, 64, 1, 1})}),
                      true);
  }
  attrs.padding = {1};
  check_inner_loops(computation_of("nn.conv2d", Attrs::make(attrs),
                                   {tensor({1, 64, 28, 28}), tensor({64, 64, 3, 3})}),
                    true);
}

// Lines of a panel are fetched ahead where multiplications leave time for it.
TEST(ContractionKernel, OneRowReadsItsPanelAsAStream) {
  const Target target = Target::parse("avx512");
  for (int64_t m : {1, 6}) {
    const te::Computation plain = computation_of("nn.dense", Attrs::make(DenseAttrs{}),
                                                 {tensor({m, 256}), tensor({1024, 256})});
    auto operand = lower::packing_of(
        plain, [](size_t input) { return input == 1; }, target.processor);
    ASSERT_TRUE(operand.has_value());
    auto kernel = std::make_shared<lower::Kernel>();
    kernel->name = "test";
    kernel->implementation = "contraction";
    kernel->body = *contraction_of(operand->computation);
    const auto loops =
        inner_products(codegen::emit_text(*kernel, target, codegen::Text::kAssembly));
    ASSERT_FALSE(loops.empty());
    for (const auto& loop : loops) {
      const bool fetches = std::any_of(loop.begin(), loop.end(), [](const std::string& line) {
        return line.find("prefetch") != std::string::npos;
      });
      EXPECT_EQ(fetches, m > 1) << m;
    }
  }
}

}  // namespace
}  // namespace relay::codegen_contraction_test
