// Generated contractions against direct evaluation: all instruction sets that run here, odd shapes,
// any number of workers. The numbers are small integers, so sums are exact in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include <relay/codegen/codegen.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/runtime/kernel.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/contraction_testing.h>

namespace relay {
namespace {

using codegen::Target;
using te::Indices;
using te::Scalar;

std::vector<Target> targets() {
  std::vector<Target> all;
  for (const char* name : {"avx512", "avx2", "baseline"}) {
    Target target = Target::parse(name);
    if (target.runs_here()) all.push_back(target);
  }
  return all;
}

NDArray numbers(std::vector<int64_t> shape, DType dtype, uint32_t seed) {
  NDArray floats = NDArray::empty(shape, dtype);
  for (int64_t i = 0; i < floats.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    auto value = static_cast<int32_t>(seed >> 28) - 8;
    if (dtype.is_unsigned()) value += 8;
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      static_cast<T*>(floats.raw())[i] = convert_element<T>(int64_t{value});
    });
  }
  return floats;
}

size_t bytes_of(const NDArray& array) {
  return static_cast<size_t>(array.size()) * array.dtype().size();
}

struct Case {
  te::Computation computation;
  std::vector<Dim> symbols;
  std::vector<int64_t> values;  // of the symbols
};

int64_t value_of(const Case& c, Dim dim) {
  return te::evaluate_dim(dim, {}, [&](const TypeVar* symbol) {
    for (size_t i = 0; i < c.symbols.size(); ++i) {
      if (c.symbols[i].as_symbol() == symbol) return c.values[i];
    }
    ADD_FAILURE() << "unknown symbol";
    return int64_t{0};
  });
}

NDArray run(const codegen::CompiledKernel& compiled, const std::vector<NDArray>& inputs,
            const NDArray& like, const std::vector<int64_t>& dims, int workers, int64_t scratch) {
  NDArray out = NDArray::empty(like.shape(), like.dtype());
  std::memset(out.raw(), 0xA5, bytes_of(out));
  const KernelBlob* blobs[] = {compiled.blob.get()};
  auto code = CodeMemory::map(blobs);
  std::vector<void*> buffers;
  for (const NDArray& input : inputs) buffers.push_back(const_cast<void*>(input.raw()));
  buffers.push_back(out.raw());
  for (int worker = 0; worker < (compiled.parallel ? workers : 1); ++worker) {
    NDArray memory = NDArray::empty({scratch + 64}, kUInt8);
    std::memset(memory.raw(), 0xFF, bytes_of(memory));
    FailureDetail detail;
    ShareOfTasks tasks(worker, workers);
    KernelArgs args{buffers.data(), dims.data(),        &tasks, memory.raw(), kernel_functions(),
                    &detail,        worker == 0 ? 1 : 0};
    EXPECT_EQ(code->kernel(0)(&args), 0);
  }
  return out;
}

void check(const Case& c) {
  std::vector<NDArray> inputs;
  for (const te::TensorInfo& info : c.computation.inputs) {
    std::vector<int64_t> shape;
    for (Dim dim : info.dims) shape.push_back(value_of(c, dim));
    inputs.push_back(numbers(shape, info.dtype, static_cast<uint32_t>(inputs.size() + 1)));
  }
  auto symbols = [&](const TypeVar* symbol) {
    for (size_t i = 0; i < c.symbols.size(); ++i) {
      if (c.symbols[i].as_symbol() == symbol) return c.values[i];
    }
    return int64_t{0};
  };
  NDArray expected = te::evaluate(c.computation, inputs, symbols)[0];
  auto contraction = contraction_of(c.computation);
  ASSERT_TRUE(contraction.has_value());
  auto kernel = std::make_shared<lower::Kernel>();
  kernel->name = "test";
  kernel->implementation = "contraction";
  kernel->body = *contraction;
  kernel->dim_args = c.symbols;
  std::shared_ptr<const lower::Kernel> kernels[] = {kernel};
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name());
    auto compiled = codegen::compile(kernels, target)[0];
    int64_t scratch = value_of(c, compiled.scratch_bytes);
    NDArray one = run(compiled, inputs, expected, c.values, 1, scratch);
    for (int64_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(one.element_as_double(i), expected.element_as_double(i)) << "element " << i;
    }
    for (int workers : {2, 5}) {
      NDArray several = run(compiled, inputs, expected, c.values, workers, scratch);
      ASSERT_EQ(std::memcmp(one.raw(), several.raw(), bytes_of(one)), 0) << workers << " workers";
    }
  }
}

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
  check_conv<Conv2>("nn.conv2d", {1, 6, 9, 8}, {12, 1, 3, 3}, [](auto& a) { a.groups = 6; });
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

void check_inner_loops(const te::Computation& computation) {
  auto kernel = std::make_shared<lower::Kernel>();
  kernel->name = "test";
  kernel->implementation = "contraction";
  kernel->body = *contraction_of(computation);
  for (const char* name : {"avx512", "avx2", "baseline"}) {
    SCOPED_TRACE(name);
    std::string text = codegen::emit_text(*kernel, Target::parse(name), codegen::Text::kAssembly);
    const bool has_frame = text.find("movq\t%rsp, %rbp") != std::string::npos;
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

}  // namespace
}  // namespace relay
