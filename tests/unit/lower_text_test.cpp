// The loops of some kernels as text.
#include <gtest/gtest.h>

#include <relay/graph/compose.h>
#include <relay/ir/type.h>
#include <relay/lower/lower.h>

#include <tests/unit/lower_cases.h>

namespace relay::lower::lower_text_test {
namespace {

using graph::compose;

TypeRef tensor(std::vector<Dim> dims) { return TensorType::make(dims, kFloat32); }

std::string loops(const std::string& program, const std::vector<TypeRef>& closed,
                  const std::vector<TypeRef>& types = {}) {
  FunctionRef function = relay::testing::main_function(program, closed);
  Lowered lowered = lower(compose(*function, types.empty() ? closed : types).computation, "k", {});
  std::string text;
  for (const auto& kernel : lowered.kernels) {
    text += kernel->implementation + "\n" + kernel->str();
  }
  return "\n" + text;
}

TEST(LowerText, DenseWithEpilogue) {
  EXPECT_EQ(loops("def @main(%x: Tensor[(8, 64), float32], %w: Tensor[(32, 64), float32], %b: "
                  "Tensor[(32), float32]) { nn.relu(nn.bias_add(nn.dense(%x, %w, units=32), %b)) }",
                  {tensor({8, 64}), tensor({32, 64}), tensor({32})}),
            R"(
contraction
b0: input float32[8, 64]
b1: input float32[32, 64]
b2: input float32[32]
b3: output float32[8, 32]
batch
rows i0 < 8
columns i1 < 32
folded i2 < 64
v0: float32 += b0[i0, i2] * b1[i1, i2]
b3[i0, i1] = max((v0 + b2[i1]), 0f)
)");
}

TEST(LowerText, Softmax) {
  EXPECT_EQ(
      loops("def @main(%x: Tensor[(128, 768), float32]) { nn.softmax(%x) }", {tensor({128, 768})}),
      R"(
row
b0: input float32[98304]
b1: scratch float32[768]
b2: output float32[98304]
parallel i0 in 0 .. 128
  let v0 = -inff
  vector i1 in 0 .. 768 interleave 4
    v0 max= b0[((i0 * 768) + i1)]
  let v1 = v0
  vector i2 in 0 .. 768
    b1[i2] = exp((b0[((i0 * 768) + i2)] - v1))
  let v2 = 0f
  vector i3 in 0 .. 768 interleave 4
    v2 += b1[i3]
  let v3 = v2
  vector i4 in 0 .. 768
    b2[((i0 * 768) + i4)] = (b1[i4] / v3)
)");
}

TEST(LowerText, SoftmaxOfUnknownRows) {
  TypeVarRef n = TypeVar::make("rows", Kind::kShapeVar);
  EXPECT_EQ(loops("def @main(%x: Tensor[(4, 10), float32]) { nn.softmax(%x) }", {tensor({4, 10})},
                  {tensor({Dim::symbol(n.get()), 10})}),
            R"(
row
b0: input float32[10 * d0]
b1: scratch float32[10]
b2: output float32[10 * d0]
parallel i0 in 0 .. {d0}
  let v0 = -inff
  vector i1 in 0 .. 10 interleave 4
    v0 max= b0[((i0 * 10) + i1)]
  let v1 = v0
  vector i2 in 0 .. 10
    b1[i2] = exp((b0[((i0 * 10) + i2)] - v1))
  let v2 = 0f
  vector i3 in 0 .. 10 interleave 4
    v2 += b1[i3]
  let v3 = v2
  vector i4 in 0 .. 10
    b2[((i0 * 10) + i4)] = (b1[i4] / v3)
)");
}

TEST(LowerText, Transpose) {
  EXPECT_EQ(
      loops("def @main(%x: Tensor[(100, 200), float32]) { transpose(%x) }", {tensor({100, 200})}),
      R"(
transpose
b0: output float32[20000]
b1: input float32[20000]
parallel i0 in 0 .. 12
  let v0 = floormod(i0, 12)
  let v1 = floordiv(i0, 12)
  let v2 = (v1 * 100)
  let v3 = (v0 * 16)
  turned i1 in v2 .. (v2 + 100)
    vector i2 in v3 .. select((v0 < 11), (v3 + 16), 200)
      b0[((i2 * 100) + i1)] = b1[(i2 + (i1 * 200))]
)");
}

TEST(LowerText, BordersApart) {
  EXPECT_EQ(loops("def @main(%x: Tensor[(1, 64, 112, 112), float32]) { nn.max_pool2d(%x, "
                  "pool_size=[2, 2], strides=[2, 2], padding=[1, 1]) }",
                  {tensor({1, 64, 112, 112})}),
            R"(
window
b0: input float32[1, 64, 112, 112]
b1: output float32[207936]
b2: input float32[802816]
parallel i0 in 0 .. 3648
  let v0 = floormod(i0, 57)
  let v1 = floordiv(i0, 57)
  let v2 = max(((v0 * -2) + 1), 0)
  let v3 = max(min(((v0 * -2) + 113), 2), v2)
  for i1 in 0 .. 1
    let v4 = -inff
    unrolled i2 in 0 .. 2
      unrolled i3 in 0 .. 2
        v4 max= b0[0, v1, ((i2 + (v0 * 2)) + -1), (((i1 * 2) + i3) + -1); else -inff]
    b1[((i1 + (v1 * 3249)) + (v0 * 57))] = v4
  vector i1 in 1 .. 56
    let v5 = -inff
    for i2 in v2 .. v3
      unrolled i3 in 0 .. 2
        v5 max= b2[((((((i1 * 2) + (i2 * 112)) + i3) + (v1 * 12544)) + (v0 * 224)) + -113)]
    b1[((i1 + (v1 * 3249)) + (v0 * 57))] = v5
  for i1 in 56 .. 57
    let v6 = -inff
    unrolled i2 in 0 .. 2
      unrolled i3 in 0 .. 2
        v6 max= b0[0, v1, ((i2 + (v0 * 2)) + -1), (((i1 * 2) + i3) + -1); else -inff]
    b1[((i1 + (v1 * 3249)) + (v0 * 57))] = v6
)");
}

TEST(LowerText, PaddedPlane) {
  EXPECT_EQ(loops("def @main(%x: Tensor[(1, 8, 4, 4), float32]) { nn.max_pool2d(%x, "
                  "pool_size=[2, 2], strides=[1, 1], padding=[0, 0, 1, 1]) }",
                  {tensor({1, 8, 4, 4})}),
            R"(
window
b0: scratch float32[25]
b1: input float32[1, 8, 4, 4]
b2: output float32[128]
for i0 in 0 .. 8
  for i1 in 0 .. 4
    vector i2 in 0 .. 4
      b0[((i1 * 5) + i2)] = b1[0, i0, i1, i2]
    unrolled i3 in 4 .. 5
      b0[((i1 * 5) + i3)] = -inff
  for i1 in 4 .. 5
    vector i4 in 0 .. 5
      b0[((i1 * 5) + i4)] = -inff
  vector i5 in 0 .. 4
    let v0 = -inff
    let v1 = -inff
    let v2 = -inff
    let v3 = -inff
    v0 max= b0[i5]
    v0 max= b0[(i5 + 1)]
    v0 max= b0[(i5 + 5)]
    v1 max= b0[(i5 + 5)]
    v0 max= b0[(i5 + 6)]
    v1 max= b0[(i5 + 6)]
    v1 max= b0[(i5 + 10)]
    v2 max= b0[(i5 + 10)]
    v1 max= b0[(i5 + 11)]
    v2 max= b0[(i5 + 11)]
    v2 max= b0[(i5 + 15)]
    v3 max= b0[(i5 + 15)]
    v2 max= b0[(i5 + 16)]
    v3 max= b0[(i5 + 16)]
    v3 max= b0[(i5 + 20)]
    v3 max= b0[(i5 + 21)]
    b2[((i0 * 16) + i5)] = v0
    b2[(((i0 * 16) + i5) + 4)] = v1
    b2[(((i0 * 16) + i5) + 8)] = v2
    b2[(((i0 * 16) + i5) + 12)] = v3
)");
}

// Names do not count, so that equal kernels are compiled once.
TEST(LowerText, EqualKernelsPrintEqually) {
  TypeVarRef n = TypeVar::make("n", Kind::kShapeVar), m = TypeVar::make("m", Kind::kShapeVar);
  std::string program =
      "def @main(%x: Tensor[(4, 10), float32], %y: Tensor[(4, 10), float32]) { tanh(add(%x, %y)) }";
  std::vector<TypeRef> closed{tensor({4, 10}), tensor({4, 10})};
  auto with = [&](const TypeVarRef& rows) {
    TypeRef type = tensor({Dim::symbol(rows.get()), 10});
    return loops(program, closed, {type, type});
  };
  EXPECT_EQ(with(n), with(m));
}

}  // namespace
}  // namespace relay::lower::lower_text_test
