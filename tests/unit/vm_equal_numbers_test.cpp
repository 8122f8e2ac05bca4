// A constant of equal numbers is one number with a shape, all the way from text to a result.
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/parse/parse.h>
#include <relay/print/json.h>
#include <relay/print/print.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/machine.h>

namespace relay::vm::vm_equal_numbers_test {
namespace {

// Whatever asks for more than this fails: the tensors of these tests take gigabytes.
class EqualNumbers : public ::testing::Test {
 protected:
  void SetUp() override { set_memory_limit(memory_in_use() + (size_t{8} << 20)); }
  void TearDown() override { set_memory_limit(0); }

  static Module specialised(const std::string& text) {
    Module module = parse_module("test", text);
    infer_types_or_throw(module);
    return specialize(module, "main", {});
  }
  static std::string failure(const std::function<void()>& run) {
    try {
      run();
    } catch (const Error& error) {
      return error.diagnostics()[0].message;
    }
    return "no error";
  }
};

constexpr const char* kElementwise = R"(
  def @main() {
    let %c = Constant(1.5, (1000000000), float32);
    let %d = (%c + ones(shape=[1000000000], dtype="float32")) * full(2f, shape=[1000000000]);
    (%d, take(%d, 999999999), sum(strided_slice(%d, begin=[5], end=[15])),
     reshape(%d, newshape=[1000, -1]))
  }
)";

void expect_elementwise(const Value& result) {
  ASSERT_TRUE(result.is_tuple());
  EXPECT_EQ(shape_text(result.field(0).shape()), "(1000000000,)");
  EXPECT_TRUE(result.field(0).array().is_uniform());
  EXPECT_EQ(result.field(0).array().element_as_double(123456789), 5);
  EXPECT_EQ(result.field(1).as<float>(), 5);
  EXPECT_EQ(result.field(2).as<float>(), 50);
  EXPECT_TRUE(result.field(3).array().is_uniform());
  EXPECT_EQ(shape_text(result.field(3).shape()), "(1000, 1000000)");
}

TEST_F(EqualNumbers, InTextAndIr) {
  const std::string text = "Constant(-1.5, (1000, 1000000), float32)";
  Module module = parse_module("test", text);
  std::string printed = print_module(module);
  EXPECT_NE(printed.find(text), std::string::npos) << printed;
  Module again = parse_module("printed", printed);
  EXPECT_TRUE(structural_equal(module, again));
  const relay::Function* main = module.function(Name("main"));
  EXPECT_EQ(structural_hash(main), structural_hash(again.function(Name("main"))));
  Module other = parse_module("test", "Constant(-1.5, (1000000, 1000), float32)");
  EXPECT_FALSE(structural_equal(module, other));
  EXPECT_LT(print_json(module).size(), 2000u);
  infer_types_or_throw(module);
}

TEST_F(EqualNumbers, ConstantsFromFilesTooAreOneNumber) {
  NDArray dense = NDArray::zeros(Shape{64, 1024}, kFloat32);
  size_t before = memory_in_use();
  ExprRef constant = make_constant(std::move(dense));
  EXPECT_LT(memory_in_use() + (size_t{200} << 10), before);
  EXPECT_TRUE(constant->as<Constant>()->data().is_uniform());
}

TEST_F(EqualNumbers, FoldConstant) {
  Module module = parse_module("test", kElementwise);
  Module folded = (*create_pass("FoldConstant"))(module);
  std::string printed = print_module(folded);
  EXPECT_NE(printed.find("Constant(5, (1000000000), float32)"), std::string::npos) << printed;
  // An expression that is not equal numbers, or takes long to find out, is left for the run.
  for (const char* body :
       {"concatenate((Constant(1, (1000000000), int8), Constant(2, (1), int8)))",
        "sum(Constant(1.5, (1000000, 1000000), float32))",
        "sort(Constant(1.5, (1000000000), float32))",
        "nn.matmul(Constant(1, (100, 1000000000), float32), Constant(1, (1000000000, 100), "
        "float32), units=None)"}) {
    Module left = (*create_pass("FoldConstant"))(parse_module("test", body));
    EXPECT_EQ(print_module(left), print_module(parse_module("test", body)));
  }
}

TEST_F(EqualNumbers, Evaluator) {
  expect_elementwise(evaluate_function(specialised(kElementwise), Name("main"), {}));
  std::string why = failure([] {
    evaluate_function(specialised("sort(Constant(1.5, (1000000000), float32))"), Name("main"), {});
  });
  EXPECT_NE(why.find("needs 4000000000 bytes, more than the memory limit"), std::string::npos)
      << why;
}

TEST_F(EqualNumbers, Machine) {
  auto executable = compile(specialised(kElementwise), Name("main"));
  std::vector<std::byte> file = executable_bytes(*executable);
  EXPECT_LT(file.size(), size_t{100} << 10);
  expect_elementwise(Machine(load_executable(file, "test")).run("main", {}));
}

TEST_F(EqualNumbers, KernelsKnowTheNumber) {
  for (int level : {0, 3}) {
    CompileOptions options;
    options.level = level;
    const char* text = R"(
      def @main() {
        let %i = arange(0, 5, 1);
        exp(take(Constant(0, (1000000000), float32), %i)) + take(
          Constant(1, (1000000000), float32) * Constant(2, (1000000000), float32), %i)
      }
    )";
    if (level == 0)
      text = "def @main() { take(Constant(3, (1000000000), float32), arange(0, 5, 1)) }";
    Value result = Machine(compile(specialised(text), Name("main"), options)).run("main", {});
    EXPECT_TRUE(bit_equal(result.array(), NDArray::from<float>({5}, {3, 3, 3, 3, 3})));
  }
}

TEST_F(EqualNumbers, ElementsAreMadeForWhoReadsThem) {
  const char* text = R"(
    def @main(%x: Tensor[(2, 512), float32]) { nn.matmul(%x, Constant(0.5, (512, 512), float32), units=None) }
  )";
  Module module = parse_module("test", text);
  infer_types_or_throw(module);
  Value x(NDArray::uniform(NDArray::scalar(1.0f), Shape{2, 512}));
  std::vector<TypeRef> types{value_type(x)};
  auto executable = compile(specialize(module, "main", types), Name("main"));
  Machine machine(executable);
  size_t before = memory_in_use();
  Value result = machine.run("main", std::vector<Value>{x});
  EXPECT_GT(memory_in_use(), before + (size_t{900} << 10));
  EXPECT_TRUE(bit_equal(result.array(), NDArray::uniform(NDArray::scalar(256.0f), Shape{2, 512})));

  auto large = compile(specialised("sort(Constant(1.5, (1000000000), float32))"), Name("main"));
  std::string why = failure([&] { Machine(large).run("main", {}); });
  EXPECT_NE(why.find("needs 4000000000 bytes, more than the memory limit"), std::string::npos)
      << why;
  module = parse_module("test", R"(
    def @main(%x: Tensor[(1, 100000), float32]) {
      nn.matmul(%x, Constant(1, (100000, 100000), float32), units=None)
    }
  )");
  infer_types_or_throw(module);
  x = Value(NDArray::zeros(Shape{1, 100000}, kFloat32));
  types = {value_type(x)};
  auto product = compile(specialize(module, "main", types), Name("main"));
  why = failure([&] { Machine(product).run("main", std::vector<Value>{x}); });
  EXPECT_NE(why.find("tensor of shape (100000, 100000) and dtype float32 needs 40000000000 bytes"),
            std::string::npos)
      << why;
}

}  // namespace
}  // namespace relay::vm::vm_equal_numbers_test
