// Hand-built loop nests on all instruction sets: loops of all kinds, reductions, scans, masks,
// failures, dimensions known at run time.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <relay/ir/type.h>
#include <relay/tensor_expr/scalar.h>

#include <tests/unit/kernel_testing.h>

namespace relay::testing::codegen_nest_test {
namespace {

using lower::Accumulate;
using lower::Block;
using lower::Buffer;
using lower::Check;
using lower::For;
using lower::If;
using lower::Let;
using lower::LoopKind;
using lower::Nest;
using lower::Set;
using lower::Stmt;
using lower::Store;
using te::Bounds;
using te::Combiner;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

Scalar index(uint32_t axis) { return te::index_of({axis, Dim(0)}); }

Scalar load(int32_t buffer, DType dtype, std::vector<Scalar> at, Bounds bounds = Bounds::kProven) {
  auto node = make_ref<ScalarNode>(ScalarKind::kLoad, dtype);
  node->tensor = {-1, buffer};
  node->bounds = bounds;
  for (const Scalar& index : at) node->args.push_back(index.ref());
  return Scalar(node);
}

Stmt loop(LoopKind kind, uint32_t axis, Scalar end, Block body, uint32_t interleave = 1) {
  For f;
  f.kind = kind;
  f.axis = axis;
  f.begin = te::index_constant(0).ref();
  f.end = end.ref();
  f.interleave = interleave;
  f.body = std::move(body);
  return Stmt{std::move(f)};
}
Stmt let(uint32_t var, Scalar value) { return Stmt{Let{var, value.ref()}}; }
Stmt set(uint32_t var, Scalar value) { return Stmt{Set{var, value.ref()}}; }
Stmt store(int32_t buffer, std::vector<Scalar> at, Scalar value) {
  std::vector<ScalarRef> indices;
  for (const Scalar& index : at) indices.push_back(index.ref());
  return Stmt{Store{buffer, std::move(indices), value.ref()}};
}
Stmt accumulate(uint32_t var, Combiner::Kind kind, Scalar value, Scalar where = Scalar()) {
  Combiner combiner;
  combiner.kind = kind;
  return Stmt{Accumulate{{var}, combiner, {value.ref()}, where.ref()}};
}
Scalar var(uint32_t id, DType dtype) { return te::placeholder(id, dtype); }

Buffer input(DType dtype, std::vector<Dim> dims) {
  return {Buffer::Role::kInput, "in", dtype, std::move(dims)};
}
Buffer output(DType dtype, std::vector<Dim> dims) {
  return {Buffer::Role::kOutput, "out", dtype, std::move(dims)};
}

Dim symbol() { return Dim::symbol(TypeVar::make("n", Kind::kShape).get()); }

Nest nest_of(std::vector<Buffer> buffers, Block body, uint32_t axes, uint32_t vars) {
  Nest nest;
  nest.buffers = std::move(buffers);
  nest.body = std::move(body);
  nest.num_axes = axes;
  nest.num_vars = vars;
  return nest;
}

const Combiner::Kind kKinds[] = {Combiner::Kind::kSum, Combiner::Kind::kProd, Combiner::Kind::kMax,
                                 Combiner::Kind::kMin};

double identity_of(Combiner::Kind kind) {
  switch (kind) {
    case Combiner::Kind::kProd:
      return 1;
    case Combiner::Kind::kMax:
      return -INFINITY;
    case Combiner::Kind::kMin:
      return INFINITY;
    default:
      return 0;
  }
}

double join(Combiner::Kind kind, double a, double b) {
  switch (kind) {
    case Combiner::Kind::kProd:
      return a * b;
    case Combiner::Kind::kMax:
      return std::max(a, b);
    case Combiner::Kind::kMin:
      return std::min(a, b);
    default:
      return a + b;
  }
}

/// Reductions of rows with the extent known at run time: in vectors, interleaved, one by one.
TEST(CodegenNest, Reductions) {
  Dim n = symbol();
  for (const codegen::Target& target : targets_here()) {
    for (DType dtype : {kFloat32, kFloat64, kInt32, kInt8}) {
      for (Combiner::Kind kind : kKinds) {
        for (auto [loop_kind, interleave] : {std::pair{LoopKind::kVector, 1u},
                                             {LoopKind::kVector, 4u},
                                             {LoopKind::kSerial, 3u},
                                             {LoopKind::kSerial, 1u}}) {
          Scalar identity = kind == Combiner::Kind::kMax   ? te::lowest(dtype)
                            : kind == Combiner::Kind::kMin ? te::highest(dtype)
                                                           : te::constant(identity_of(kind), dtype);
          Scalar x = load(0, dtype, {index(0), index(1)});
          // Only where it is not 2.
          Scalar where = x != te::constant(2, dtype);
          Block row{
              let(0, identity),
              loop(loop_kind, 1, te::from_dim(n), {accumulate(0, kind, x, where)}, interleave),
              store(1, {index(0)}, var(0, dtype))};
          RunnableKernel kernel(
              nest_kernel(nest_of({input(dtype, {Dim(3), n}), output(dtype, {Dim(3)})},
                                  {loop(LoopKind::kParallel, 0, te::index_constant(3), row)}, 2, 1),
                          {n}),
              target);
          EXPECT_TRUE(kernel.parallel());
          for (int64_t extent : {0, 1, 3, 4, 15, 16, 17, 64, 131}) {
            NDArray in = NDArray::empty({3, extent}, dtype);
            NDArray out = NDArray::zeros(Shape{3}, dtype), want = NDArray::zeros(Shape{3}, dtype);
            dispatch(dtype, [&](auto tag) {
              using T = typename decltype(tag)::type;
              for (int64_t r = 0; r < 3; ++r) {
                T total = convert_element<T>(identity_of(kind));
                for (int64_t i = 0; i < extent; ++i) {
                  // Products stay small; sums are exact.
                  int64_t v = kind == Combiner::Kind::kProd ? 1 + (i % 9 == r) * 2
                                                            : (i * 7 + r * 3) % 11 - 5;
                  T value = convert_element<T>(v);
                  in.data<T>()[r * extent + i] = value;
                  if (v != 2) {
                    total = convert_element<T>(
                        join(kind, static_cast<double>(static_cast<ComputeType<T>>(total)),
                             static_cast<double>(v)));
                  }
                }
                want.data<T>()[r] = total;
              }
            });
            if (dtype == kInt8 && kind == Combiner::Kind::kProd) continue;  // saturates above
            for (int workers : {1, 2}) {
              kernel.run({in.raw(), out.raw()}, {extent}, workers);
              expect_close(out, want, 0,
                           std::string(dtype.name()) + " extent " + std::to_string(extent) +
                               " on " + std::string(target.name()));
            }
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(CodegenNest, ReductionDoesNotDependOnWorkers) {
  int64_t rows = 9, columns = 1003;
  Scalar x = load(0, kFloat32, {index(0), index(1)});
  Block row{let(0, te::constant(0.0, kFloat32)),
            loop(LoopKind::kVector, 1, te::index_constant(columns),
                 {accumulate(0, Combiner::Kind::kSum, x * x)}, 4),
            store(1, {index(0)}, var(0, kFloat32))};
  NDArray in = NDArray::empty({rows, columns}, kFloat32);
  for (int64_t i = 0; i < in.size(); ++i) {
    in.data<float>()[i] = std::sin(static_cast<float>(i));
  }
  for (const codegen::Target& target : targets_here()) {
    RunnableKernel kernel(
        nest_kernel(
            nest_of({input(kFloat32, {Dim(rows), Dim(columns)}), output(kFloat32, {Dim(rows)})},
                    {loop(LoopKind::kParallel, 0, te::index_constant(rows), row)}, 2, 1)),
        target);
    NDArray first = NDArray::zeros(Shape{rows}, kFloat32);
    kernel.run({in.raw(), first.raw()});
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < columns; ++c) {
        double v = in.data<float>()[r * columns + c];
        sum += v * v;
      }
      EXPECT_NEAR(first.data<float>()[r], sum, 1e-4 * sum);
    }
    for (int workers : {2, 3, 8}) {
      NDArray again = NDArray::zeros(Shape{rows}, kFloat32);
      kernel.run({in.raw(), again.raw()}, {}, workers);
      expect_close(again, first, 0, "workers");
    }
  }
}

/// argmax: two registers and a combiner with a tie rule.
TEST(CodegenNest, CustomCombiner) {
  Combiner argmax;
  argmax.kind = Combiner::Kind::kCustom;
  Scalar lv = var(10, kFloat32), li = var(11, kInt64), rv = var(12, kFloat32), ri = var(13, kInt64);
  Scalar take = rv > lv || (te::binary(te::BinaryOp::kEq, rv, lv) && ri < li);
  argmax.lhs = {lv.ref(), li.ref()};
  argmax.rhs = {rv.ref(), ri.ref()};
  argmax.result = {select(take, rv, lv).ref(), select(take, ri, li).ref()};
  argmax.identity = {te::lowest(kFloat32).ref(), te::highest(kInt64).ref()};
  Dim n = symbol();
  for (auto [kind, interleave] :
       {std::pair{LoopKind::kVector, 1u}, {LoopKind::kVector, 2u}, {LoopKind::kSerial, 2u}}) {
    Stmt join{Accumulate{
        {0, 1}, argmax, {load(0, kFloat32, {index(0)}).ref(), index(0).ref()}, ScalarRef()}};
    Block body{let(0, te::lowest(kFloat32)), let(1, te::highest(kInt64)),
               loop(kind, 0, te::from_dim(n), {join}, interleave), store(1, {}, var(1, kInt64))};
    for (const codegen::Target& target : targets_here()) {
      RunnableKernel kernel(
          nest_kernel(nest_of({input(kFloat32, {n}), output(kInt64, {})}, body, 1, 14), {n}),
          target);
      EXPECT_FALSE(kernel.parallel());
      for (int64_t extent : {1, 2, 16, 37, 100}) {
        NDArray in = NDArray::empty({extent}, kFloat32), out = NDArray::zeros(Shape{}, kInt64);
        for (int64_t i = 0; i < extent; ++i) {
          in.data<float>()[i] = static_cast<float>((i * 37 + 11) % 41 % 29);
        }
        auto* begin = in.data<float>();
        kernel.run({in.raw(), out.raw()}, {extent}, 2);
        EXPECT_EQ(out.data<int64_t>()[0], std::max_element(begin, begin + extent) - begin);
      }
    }
  }
}

/// A recurrence along the serial axis, lanes across it; forwards and backwards.
TEST(CodegenNest, ScanAcrossLanes) {
  for (bool reverse : {false, true}) {
    int64_t steps = 7, width = 21;
    Scalar x = load(0, kInt32, {index(1), index(0)});
    Stmt along =
        loop(LoopKind::kSerial, 1, te::index_constant(steps),
             {set(0, var(0, kInt32) * 3 + x), store(1, {index(1), index(0)}, var(0, kInt32))});
    std::get<For>(along.node).reverse = reverse;
    Block body{loop(LoopKind::kVector, 0, te::index_constant(width),
                    {let(0, te::constant(1, kInt32)), along})};
    for (const codegen::Target& target : targets_here()) {
      std::vector<Dim> dims{Dim(steps), Dim(width)};
      RunnableKernel kernel(
          nest_kernel(nest_of({input(kInt32, dims), output(kInt32, dims)}, body, 2, 1)), target);
      NDArray in = NDArray::empty({steps, width}, kInt32),
              out = NDArray::zeros(Shape{steps, width}, kInt32),
              want = NDArray::zeros(Shape{steps, width}, kInt32);
      for (int64_t i = 0; i < in.size(); ++i) in.data<int32_t>()[i] = static_cast<int32_t>(i % 13);
      for (int64_t c = 0; c < width; ++c) {
        int32_t carry = 1;
        for (int64_t k = 0; k < steps; ++k) {
          int64_t at = (reverse ? steps - 1 - k : k) * width + c;
          carry = carry * 3 + in.data<int32_t>()[at];
          want.data<int32_t>()[at] = carry;
        }
      }
      kernel.run({in.raw(), out.raw()});
      expect_close(out, want, 0, "scan");
    }
  }
}

/// Scratch memory, a value used over several loops, and dependences through memory.
TEST(CodegenNest, RowProgramInScratch) {
  Dim n = symbol();
  Scalar x = load(0, kFloat32, {index(0), index(1)});
  Scalar kept = load(2, kFloat32, {index(3)});
  Block row{
      let(0, te::lowest(kFloat32)),
      loop(LoopKind::kVector, 1, te::from_dim(n), {accumulate(0, Combiner::Kind::kMax, x)}, 2),
      let(1, te::constant(0.0, kFloat32)),
      loop(LoopKind::kVector, 2, te::from_dim(n),
           {let(2, exp(load(0, kFloat32, {index(0), index(2)}) - var(0, kFloat32))),
            store(2, {index(2)}, var(2, kFloat32)),
            accumulate(1, Combiner::Kind::kSum, var(2, kFloat32))}),
      loop(LoopKind::kVector, 3, te::from_dim(n),
           {store(1, {index(0), index(3)}, kept / var(1, kFloat32))})};
  Nest nest = nest_of({input(kFloat32, {Dim(4), n}),
                       output(kFloat32, {Dim(4), n}),
                       {Buffer::Role::kScratch, "row", kFloat32, {n}}},
                      {loop(LoopKind::kParallel, 0, te::index_constant(4), row)}, 4, 3);
  for (const codegen::Target& target : targets_here()) {
    RunnableKernel kernel(nest_kernel(nest, {n}), target);
    for (int64_t extent : {1, 5, 16, 50}) {
      NDArray in = NDArray::empty({4, extent}, kFloat32),
              out = NDArray::zeros(Shape{4, extent}, kFloat32);
      for (int64_t i = 0; i < in.size(); ++i) in.data<float>()[i] = static_cast<float>(i % 7);
      kernel.run({in.raw(), out.raw()}, {extent}, 2);
      for (int64_t r = 0; r < 4; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < extent; ++i) sum += std::exp(in.data<float>()[r * extent + i]);
        for (int64_t i = 0; i < extent; ++i) {
          EXPECT_NEAR(out.data<float>()[r * extent + i],
                      std::exp(in.data<float>()[r * extent + i]) / sum, 1e-6);
        }
      }
    }
  }
}

/// Conditions that vary along the lanes: both sides run masked, what is not taken does not fail.
TEST(CodegenNest, MaskedStatements) {
  int64_t n = 43;
  Scalar i = index(0);
  Scalar x = load(0, kInt32, {i});
  Block positive{let(1, te::binary(te::BinaryOp::kDiv, te::constant(100, kInt32), x)),
                 set(0, var(0, kInt32) + var(1, kInt32)), store(1, {i}, var(0, kInt32))};
  Block other{store(1, {i}, te::constant(-7, kInt32)),
              Stmt{If{(i < 20).ref(), {store(2, {i - 20 + 20}, x)}, {}}}};
  Block body{loop(LoopKind::kVector, 0, te::index_constant(n),
                  {let(0, x * 2), Stmt{If{(x > 0).ref(), positive, other}},
                   store(3, {te::index_constant(n - 1) - i}, var(0, kInt32))})};
  NDArray in = NDArray::empty({n}, kInt32);
  for (int64_t k = 0; k < n; ++k) in.data<int32_t>()[k] = static_cast<int32_t>(k * 5 % 9 - 3);
  for (const codegen::Target& target : targets_here()) {
    Buffer out = output(kInt32, {Dim(n)});
    RunnableKernel kernel(
        nest_kernel(nest_of({input(kInt32, {Dim(n)}), out, out, out}, body, 1, 2)), target);
    NDArray a = NDArray::zeros(Shape{n}, kInt32), b = NDArray::zeros(Shape{n}, kInt32),
            c = NDArray::zeros(Shape{n}, kInt32);
    KernelResult result = kernel.run({in.raw(), a.raw(), b.raw(), c.raw()});
    EXPECT_EQ(result.code, 0) << result.message;
    for (int64_t k = 0; k < n; ++k) {
      int32_t v = in.data<int32_t>()[k];
      int32_t changed = v > 0 ? v * 2 + 100 / v : v * 2;
      EXPECT_EQ(a.data<int32_t>()[k], v > 0 ? changed : -7);
      EXPECT_EQ(b.data<int32_t>()[k], v <= 0 && k < 20 ? v : 0);
      EXPECT_EQ(c.data<int32_t>()[n - 1 - k], changed);
    }
  }
}

TEST(CodegenNest, Failures) {
  int64_t n = 37;
  for (const codegen::Target& target : targets_here()) {
    for (LoopKind kind : {LoopKind::kVector, LoopKind::kSerial}) {
      Scalar i = index(0);
      Scalar at = cast(load(0, kInt32, {i}), kInt64);
      // The value loaded at a bad index is 0, and nothing is touched.
      Scalar value = load(1, kFloat32, {at}, Bounds::kFail);
      Scalar checked = fail_unless(value < 1000.0, value, "too large");
      Scalar ratio = te::binary(te::BinaryOp::kDiv, te::constant(int64_t{10}, kInt64), at - 5);
      Block body{loop(
          kind, 0, te::index_constant(n),
          {store(2, {i}, checked), store(3, {i}, ratio), Stmt{Check{(at < 30).ref(), "thirty"}}})};
      RunnableKernel kernel(
          nest_kernel(nest_of({input(kInt32, {Dim(n)}), input(kFloat32, {Dim(33)}),
                               output(kFloat32, {Dim(n)}), output(kInt64, {Dim(n)})},
                              body, 1, 0)),
          target);
      NDArray index_data = NDArray::zeros(Shape{n}, kInt32),
              table = NDArray::zeros(Shape{33}, kFloat32), out = NDArray::zeros(Shape{n}, kFloat32),
              ratios = NDArray::zeros(Shape{n}, kInt64);
      auto run = [&] {
        return kernel.run({index_data.raw(), table.raw(), out.raw(), ratios.raw()});
      };
      EXPECT_EQ(run().code, 0);
      index_data.data<int32_t>()[35] = 1 << 30;
      KernelResult result = run();
      EXPECT_EQ(result.message, "index out of range");
      EXPECT_EQ(result.detail.index, 1 << 30);
      EXPECT_EQ(result.detail.extent, 33);
      index_data.data<int32_t>()[35] = 5;
      EXPECT_EQ(run().message, "integer division by zero");
      index_data.data<int32_t>()[35] = 31;
      EXPECT_EQ(run().message, "thirty");
      index_data.data<int32_t>()[35] = 0;
      table.data<float>()[0] = 2000;
      EXPECT_EQ(run().message, "too large");
    }
  }
}

TEST(CodegenNest, UnrolledAndStepped) {
  int64_t n = 29;
  Scalar sum = load(0, kFloat32, {index(0)});
  For unrolled;
  unrolled.kind = LoopKind::kUnrolled;
  unrolled.axis = 1;
  unrolled.begin = te::index_constant(1).ref();
  unrolled.end = te::index_constant(4).ref();
  Scalar shifted = load(0, kFloat32, {index(0) + index(1)}, Bounds::kClamp);
  unrolled.body = {accumulate(0, Combiner::Kind::kSum, shifted)};
  For stepped;
  stepped.kind = LoopKind::kParallel;
  stepped.axis = 2;
  stepped.begin = te::index_constant(0).ref();
  stepped.end = te::index_constant(n).ref();
  stepped.step = 8;
  For lanes;
  lanes.kind = LoopKind::kVector;
  lanes.axis = 0;
  lanes.begin = index(2).ref();
  lanes.end = te::min(index(2) + 8, te::index_constant(n)).ref();
  lanes.body = {let(0, sum), Stmt{unrolled}, store(1, {index(0)}, var(0, kFloat32))};
  stepped.body = {Stmt{lanes}};
  for (const codegen::Target& target : targets_here()) {
    RunnableKernel kernel(
        nest_kernel(nest_of({input(kFloat32, {Dim(n)}), output(kFloat32, {Dim(n)})},
                            {Stmt{stepped}}, 3, 1)),
        target);
    NDArray in = NDArray::empty({n}, kFloat32), out = NDArray::zeros(Shape{n}, kFloat32);
    for (int64_t i = 0; i < n; ++i) in.data<float>()[i] = static_cast<float>(i);
    kernel.run({in.raw(), out.raw()}, {}, 3);
    for (int64_t i = 0; i < n; ++i) {
      float want = 0;
      for (int64_t k = 0; k < 4; ++k) want += static_cast<float>(std::min(i + k, n - 1));
      EXPECT_EQ(out.data<float>()[i], want);
    }
  }
}

/// The code of out[i] = value(i) for i below 64, from inputs of 64 and of 32 floats.
std::string code_of(const Scalar& value, const codegen::Target& target) {
  Block body{loop(LoopKind::kVector, 0, te::index_constant(64), {store(2, {index(0)}, value)})};
  auto shared = nest_kernel(
      nest_of({input(kFloat32, {64}), input(kFloat32, {32}), output(kFloat32, {64})}, body, 1, 0));
  return codegen::emit_text(*shared, target, codegen::Text::kLlvm);
}

/// Arms that can do no harm are computed for all lanes: no branch gives a vector.
TEST(CodegenNest, LoadsInsideAreHarmless) {
  const Scalar x = load(0, kFloat32, {index(0)}), zero = te::constant(0.0, kFloat32);
  Scalar often = x;  // few operations, but many if each use counts
  for (int k = 0; k < 8; ++k) often = often * often + often;
  const Scalar reversed = load(0, kFloat32, {te::index_constant(63) - index(0)});
  const Scalar maybe = load(1, kFloat32, {index(0)});
  for (const codegen::Target& target : targets_here()) {
    auto has_branch = [&](const Scalar& arm) {
      return code_of(te::select(x > 0, arm, zero), target).find("phi <") != std::string::npos;
    };
    EXPECT_FALSE(has_branch(reversed));
    EXPECT_FALSE(has_branch(often));
    EXPECT_TRUE(has_branch(maybe));
  }
}

/// Outputs beyond the caches are stored past them, where whole vectors are aligned.
TEST(CodegenNest, HugeOutput) {
  int64_t rows = 7 << 10, columns = 1024 + 16;
  Scalar x = load(0, kFloat32, {index(1)});
  Block row{loop(LoopKind::kVector, 1, te::index_constant(columns),
                 {store(1, {index(0), index(1)}, x + cast(index(0), kFloat32))})};
  for (const codegen::Target& target : targets_here()) {
    auto shared = nest_kernel(
        nest_of({input(kFloat32, {Dim(columns)}), output(kFloat32, {Dim(rows), Dim(columns)})},
                {loop(LoopKind::kParallel, 0, te::index_constant(rows), row)}, 2, 0));
    EXPECT_NE(codegen::emit_text(*shared, target, codegen::Text::kAssembly).find("movntps"),
              std::string::npos);
    RunnableKernel kernel(shared, target);
    NDArray in = NDArray::empty({columns}, kFloat32);
    NDArray out = NDArray::zeros(Shape{rows, columns}, kFloat32);
    for (int64_t i = 0; i < columns; ++i) in.data<float>()[i] = static_cast<float>(i);
    kernel.run({in.raw(), out.raw()}, {}, 3);
    for (int64_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out.data<float>()[i], static_cast<float>(i / columns + i % columns)) << i;
    }
  }
}

/// The same where the vector loop takes pieces of a long axis, the last of them shorter.
TEST(CodegenNest, HugeOutputInPieces) {
  int64_t n = (7 << 20) + 5, piece = 1536;
  For lanes;
  lanes.kind = LoopKind::kVector;
  lanes.axis = 1;
  lanes.begin = (index(0) * piece).ref();
  lanes.end = te::min(index(0) * piece + piece, te::index_constant(n)).ref();
  lanes.body = {store(1, {index(1)}, load(0, kFloat32, {index(1)}) + te::constant(1.0, kFloat32))};
  for (const codegen::Target& target : targets_here()) {
    auto shared = nest_kernel(nest_of(
        {input(kFloat32, {Dim(n)}), output(kFloat32, {Dim(n)})},
        {loop(LoopKind::kParallel, 0, te::index_constant((n + piece - 1) / piece), {Stmt{lanes}})},
        2, 0));
    EXPECT_NE(codegen::emit_text(*shared, target, codegen::Text::kAssembly).find("movntps"),
              std::string::npos);
    RunnableKernel kernel(shared, target);
    NDArray in = NDArray::empty({n}, kFloat32);
    NDArray out = NDArray::zeros(Shape{n}, kFloat32);
    for (int64_t i = 0; i < n; ++i) in.data<float>()[i] = static_cast<float>(i);
    kernel.run({in.raw(), out.raw()}, {}, 2);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out.data<float>()[i], static_cast<float>(i) + 1) << i;
  }
}

/// Stores that go anywhere, in order: of several to one place the last stays.
TEST(CodegenNest, ScatteredStores) {
  int64_t n = 50;
  for (DType dtype : {kFloat32, kInt8, kFloat64}) {
    Scalar i = index(0);
    Block body{loop(LoopKind::kVector, 0, te::index_constant(n),
                    {store(2, {cast(load(0, kInt32, {i}), kInt64)}, load(1, dtype, {i})),
                     store(3, {i * 3}, load(1, dtype, {i})),
                     store(4, {te::index_constant(0)}, load(1, dtype, {i}))})};
    for (const codegen::Target& target : targets_here()) {
      RunnableKernel kernel(
          nest_kernel(
              nest_of({input(kInt32, {Dim(n)}), input(dtype, {Dim(n)}), output(dtype, {Dim(n)}),
                       output(dtype, {Dim(3 * n)}), output(dtype, {Dim(1)})},
                      body, 1, 0)),
          target);
      NDArray at = NDArray::empty({n}, kInt32), x = NDArray::empty({n}, dtype),
              a = NDArray::zeros(Shape{n}, dtype), b = NDArray::zeros(Shape{3 * n}, dtype),
              c = NDArray::zeros(Shape{1}, dtype), want = NDArray::zeros(Shape{n}, dtype);
      dispatch(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (int64_t k = 0; k < n; ++k) {
          at.data<int32_t>()[k] = static_cast<int32_t>(k * 7 % 23);
          x.data<T>()[k] = convert_element<T>(k);
          want.data<T>()[k * 7 % 23] = x.data<T>()[k];
        }
      });
      kernel.run({at.raw(), x.raw(), a.raw(), b.raw(), c.raw()});
      expect_close(a, want, 0, "scattered");
      for (int64_t k = 0; k < n; ++k) EXPECT_EQ(b.element_as_double(3 * k), double(k));
      EXPECT_EQ(c.element_as_double(0), double(n - 1));
    }
  }
}

// Tasks come back to front here: what is said is what one worker would say from front to back,
// code and numbers.
TEST(CodegenNest, TheEarliestTaskThatFailsCounts) {
  const int64_t n = 50;
  Scalar i = index(0);
  Scalar at = cast(load(0, kInt32, {i}), kInt64);
  Scalar value = load(1, kFloat32, {at}, Bounds::kFail);
  Scalar ratio = te::binary(te::BinaryOp::kDiv, te::constant(int64_t{10}, kInt64), at - 5);
  Block body{loop(LoopKind::kParallel, 0, te::index_constant(n),
                  {store(2, {i}, value), store(3, {i}, ratio)})};
  for (const codegen::Target& target : targets_here()) {
    RunnableKernel kernel(
        nest_kernel(nest_of({input(kInt32, {Dim(n)}), input(kFloat32, {Dim(33)}),
                             output(kFloat32, {Dim(n)}), output(kInt64, {Dim(n)})},
                            body, 1, 0)),
        target);
    EXPECT_TRUE(kernel.parallel());
    NDArray table = NDArray::zeros(Shape{33}, kFloat32), out = NDArray::zeros(Shape{n}, kFloat32),
            ratios = NDArray::zeros(Shape{n}, kInt64);
    for (int workers : {1, 2, 3, 16}) {
      NDArray indices = NDArray::zeros(Shape{n}, kInt32);
      auto run = [&] {
        return kernel.run({indices.raw(), table.raw(), out.raw(), ratios.raw()}, {}, workers);
      };
      EXPECT_EQ(run().code, 0);
      for (int64_t bad : {49, 31, 30, 8, 0}) {
        indices.data<int32_t>()[bad] = static_cast<int32_t>(100 + bad);
        KernelResult result = run();
        EXPECT_EQ(result.message, "index out of range");
        EXPECT_EQ(result.detail.index, 100 + bad) << workers << " workers";
        EXPECT_EQ(result.detail.extent, 33);
      }
      // An earlier failure of another kind, without numbers.
      indices.data<int32_t>()[0] = 5;
      KernelResult result = run();
      EXPECT_EQ(result.message, "integer division by zero");
      EXPECT_EQ(result.detail.index, FailureDetail::kUnset);
    }
  }
}

}  // namespace
}  // namespace relay::testing::codegen_nest_test
