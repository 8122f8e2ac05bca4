// The work of kernels: instructions by kind, from their loops and plans.
#include <gtest/gtest.h>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/lower/work.h>

#include <tests/unit/lower_cases.h>

namespace relay::lower::lower_work_test {
namespace {

// All kernels of a body over %a, %b, … of float32, on vectors of 8.
KernelWork work(const std::string& body, const std::vector<std::vector<Dim>>& shapes) {
  LowerOptions options;
  options.processor.vector_bytes = 32;
  options.processor.registers = 16;
  std::string text = "def @main(";
  std::vector<TypeRef> types;
  for (size_t i = 0; i < shapes.size(); ++i) {
    types.push_back(TensorType::make(shapes[i], kFloat32));
    text += (i > 0 ? ", %" : "%") + std::string(1, static_cast<char>('a' + i));
  }
  const FunctionRef function = testing::main_function(text + ") { " + body + " }", types);
  KernelWork all;
  for (const auto& kernel :
       lower(graph::compose(*function, types).computation, "k", options).kernels)
    all = all + work_of(*kernel, options.processor);
  return all;
}

int64_t known(Dim dim) {
  EXPECT_TRUE(dim.is_int()) << dim.str();
  return dim.is_int() ? dim.as_int() : -1;
}

TEST(KernelWork, VectorsOfElementwiseLoops) {
  // Two loads, an addition, a store and the loop's counter for each vector of 8.
  const KernelWork sum = work("%a + %b", {{4096}, {4096}});
  EXPECT_EQ(known(sum.products), 0);
  EXPECT_EQ(known(sum.functions), 0);
  EXPECT_GE(known(sum.steps), 5 * 512);
  EXPECT_LT(known(sum.steps), 6 * 512);
  // A function for each vector; arithmetic is more by an instruction for each vector.
  const KernelWork more = work("exp(%a + %b) * 2f", {{4096}, {4096}});
  EXPECT_EQ(known(more.functions), 512);
  EXPECT_EQ(known(more.steps) - known(sum.steps), 512);
  // A product that is added is one instruction with the addition.
  const KernelWork fused = work("%a * 2f + %b", {{4096}, {4096}});
  EXPECT_EQ(known(fused.steps), known(sum.steps));
}

TEST(KernelWork, WhatLoopsDoNotChangeCountsOnce) {
  const KernelWork inside = work("exp(%a)", {{64, 128}});
  const KernelWork outside =
      work("exp(%a) * exp(sum(%b, axis=[1], keepdims=True))", {{64, 128}, {64, 128}});
  EXPECT_EQ(known(inside.functions), 64 * 128 / 8);
  // One more for each row.
  EXPECT_LE(known(outside.functions), 64 * 128 / 8 + 64);
}

TEST(KernelWork, ElementsThatLieApartAreLoadedOneByOne) {
  const KernelWork beside = work("%a + 1f", {{1000}});
  const KernelWork apart =
      work("strided_slice(%a, begin=[0], end=[3000], strides=[3]) + 1f", {{3000}});
  EXPECT_GT(known(apart.steps), known(beside.steps) + 500);
}

TEST(KernelWork, ProductsOfTiles) {
  // Multiply-adds of vectors of 8; what a tile waits for is less than half as many again.
  const int64_t least = 768 * 512 * 512 / 8;
  const KernelWork whole = work("nn.dense(%a, %b)", {{768, 512}, {512, 512}});
  EXPECT_GE(known(whole.products), least);
  EXPECT_LT(known(whole.products), least * 3 / 2);
  // Columns that fill a part of a vector count as a vector.
  const KernelWork ragged = work("nn.dense(%a, %b)", {{768, 512}, {505, 512}});
  EXPECT_GT(known(ragged.products), least * 95 / 100);
  EXPECT_GT(known(ragged.steps), 0);
}

TEST(KernelWork, ExtentsThatARunGives) {
  const TypeVarRef name = TypeVar::make("n", Kind::kShapeVar);
  const Dim n = Dim::symbol(name.get());
  const KernelWork open = work("exp(%a)", {{n}});
  EXPECT_TRUE(open.functions.is_term());
  const Dim at = substitute(open.functions, [](Dim) { return Dim(80); });
  EXPECT_EQ(known(at), 10);
}

TEST(KernelWork, NothingForSizesBeyondAllBounds) {
  Kernel kernel;
  Nest nest;
  For outer;
  outer.begin = te::index_constant(0).ref();
  outer.end = te::index_constant(int64_t{1} << 60).ref();
  For inner = outer;
  inner.axis = 1;
  outer.body.push_back({inner});
  nest.body.push_back({outer});
  kernel.body = nest;
  const KernelWork work = work_of(kernel, Processor());
  EXPECT_EQ(known(work.steps), 0);
}

}  // namespace
}  // namespace relay::lower::lower_work_test
