// A program leaves nothing behind when nobody holds it any more.
#include <gtest/gtest.h>
#include <malloc.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/dim.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/name.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/lower_cases.h>

namespace relay::model_memory_test {
namespace {

// A program whose names, dimension names and extents no other has.
std::string program(int number) {
  std::string i = std::to_string(number);
  return "def @scale_" + i + "(%left_" + i + ": Tensor[(rows_" + i + ", 3), float32]) {\n" +
         "  let %sum_" + i + " = concatenate((%left_" + i + ", exp(%left_" + i + ")), axis=0);\n" +
         "  reshape(%sum_" + i + ", newshape=[-1, 1])\n}\n" +  //
         "def @main(%data_" + i + ": Tensor[(rows_" + i + ", 3), float32], %weight_" + i +
         ": Tensor[(" + std::to_string(number % 7 + 2) + ", 1), float32]) {\n" +
         "  nn.dense(@scale_" + i + "(%data_" + i + "), %weight_" + i + ")\n}\n";
}

void use(int number) {
  Module module = parse_module("program", program(number));
  infer_types_or_throw(module);
  const std::vector<int64_t> data = {4, 3};
  const std::vector<int64_t> weight = {number % 7 + 2, 1};
  std::vector<Value> arguments = {Value(testing::random_array(data, kFloat32, 1)),
                                  Value(testing::random_array(weight, kFloat32, 2))};
  evaluate_function(module, "main", arguments);
  vm::Machine machine(vm::compile(module, Name("main")));
  machine.run("main", arguments);
  print_module(module);
}

TEST(ModelMemory, NamesAndDimensionsGo) {
  for (int i = 0; i < 3; ++i) use(i);  // what is made once for all programs
  const size_t names = Name::count();
  const size_t terms = Dim::count_terms();
  for (int i = 3; i < 30; ++i) use(i);
  EXPECT_EQ(Name::count(), names);
  EXPECT_EQ(Dim::count_terms(), terms);
}

TEST(ModelMemory, FailuresLeaveNothing) {
  auto fail = [](int i) {
    std::string n = std::to_string(i);
    EXPECT_THROW(parse_module("program", "def @main(%x_" + n + ") { %unknown_" + n + " }"), Error);
    Module module = parse_module("program", "def @f_" + n + "(%x: Tensor[(wide_" + n +
                                                ", 3), float32]) { nn.relu(%x, %x) }");
    EXPECT_FALSE(infer_types(module).empty());
  };
  for (int i = 0; i < 3; ++i) fail(i);
  const size_t names = Name::count();
  const size_t terms = Dim::count_terms();
  for (int i = 3; i < 30; ++i) fail(i);
  EXPECT_EQ(Name::count(), names);
  EXPECT_EQ(Dim::count_terms(), terms);
}

}  // namespace
}  // namespace relay::model_memory_test
