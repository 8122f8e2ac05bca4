// Tensors of somebody else's begin anywhere: at multiples of their elements' size.
#include <gtest/gtest.h>

#include <sstream>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

namespace relay::vm::vm_alignment_test {
namespace {

// The same elements behind one that is left out, so that no vector of them is aligned.
NDArray misplaced(const NDArray& array) {
  NDArray memory = NDArray::empty({array.size() + 1}, array.dtype());
  NDArray part = memory.slice(0, 1, array.size()).reshape(array.shape());
  part.assign(array);
  return part;
}

NDArray numbers(const Shape& shape, DType dtype) {
  NDArray array = NDArray::empty(shape, kInt32);
  for (int64_t i = 0; i < array.size(); ++i)
    array.data<int32_t>()[i] = static_cast<int32_t>(i * 7919 % 23 - 11);
  return array.cast(dtype);
}

std::vector<codegen::Target> targets() {
  std::vector<codegen::Target> all;
  for (const char* name : {"baseline", "avx2", "avx512", "aarch64"}) {
    if (codegen::Target target = codegen::Target::parse(name); target.runs_here())
      all.push_back(target);
  }
  return all;
}

std::shared_ptr<const Executable> compiled(const std::string& text, std::span<const Value> values,
                                           codegen::Target target) {
  Module module = parse_module("test", text);
  infer_types_or_throw(module);
  std::vector<TypeRef> types;
  for (const Value& value : values) types.push_back(value_type(value));
  CompileOptions options;
  options.target = target;
  return compile(specialize(module, "main", types), Name("main"), options);
}

TEST(VmAlignment, InputsBeginAnywhere) {
  struct Case {
    std::string text;
    std::vector<NDArray> inputs;
  };
  std::vector<Case> cases;
  const std::string parameters =
      "def @main(%x: Tensor[(33, 40), float32], %y: Tensor[(33, 40), float32]) ";
  for (const char* body :
       {"%x + exp(%y) * %x", "nn.dense(%x, %y)", "nn.softmax(%x) - %y", "sum(%x * %y, axis=[0])",
        "transpose(%x) + transpose(%y)", "cumsum(%x + %y, axis=1)",
        "concatenate((%x, %y + 1f), axis=1)",
        "where(less(%x, %y), floor_divide(%x, %y + 100f), %y)",
        "cast(%x, dtype=\"int8\") + cast(%y, dtype=\"int8\")", "argmax(%x + %y, axis=[1])"}) {
    cases.push_back({parameters + "{ " + body + " }",
                     {numbers({33, 40}, kFloat32), numbers({33, 40}, kFloat32)}});
  }
  cases.push_back(
      {"def @main(%x: Tensor[(1, 5, 17, 19), float32], %w: Tensor[(7, 5, 3, 3), float32]) { "
       "nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1])) }",
       {numbers({1, 5, 17, 19}, kFloat32), numbers({7, 5, 3, 3}, kFloat32)}});
  for (DType dtype : {kInt8, kInt32, kInt64, kFloat16, kFloat64}) {
    const std::string type = "Tensor[(1000), " + std::string(dtype.name()) + "]";
    cases.push_back({"def @main(%x: " + type + ", %y: " + type + ") { maximum(%x, %y) * %x + %y }",
                     {numbers({1000}, dtype), numbers({1000}, dtype)}});
  }
  for (codegen::Target target : targets()) {
    for (const Case& each : cases) {
      std::vector<Value> aligned, elsewhere;
      for (const NDArray& input : each.inputs) {
        aligned.emplace_back(input);
        elsewhere.emplace_back(misplaced(input));
        ASSERT_NE(reinterpret_cast<uintptr_t>(elsewhere.back().array().raw()) % 16, 0u);
      }
      Machine machine(compiled(each.text, aligned, target));
      EXPECT_TRUE(bit_equal(machine.run("main", aligned), machine.run("main", elsewhere)))
          << target.name() << ": " << each.text;
    }
  }
}

// Memory that is written begins at a line; of what is read nothing is said but the elements'
// alignment.
TEST(VmAlignment, CodeIsToldOfOutputsAlone) {
  const Value x(numbers({33, 40}, kFloat32));
  const std::vector<Value> values{x, x};
  Module module = parse_module("test",
                               "def @main(%x: Tensor[(33, 40), float32], %y: Tensor[(33, 40), "
                               "float32]) { exp(%x) + %y }");
  infer_types_or_throw(module);
  std::vector<TypeRef> types{value_type(x), value_type(x)};
  std::vector<std::shared_ptr<const lower::Kernel>> kernels;
  CompileOptions options;
  options.kernels = &kernels;
  compile(specialize(module, "main", types), Name("main"), options);
  ASSERT_EQ(kernels.size(), 1u);
  const std::string text = emit_text(*kernels[0], options.target, codegen::Text::kLlvm);
  size_t bases = 0, aligned = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("= load ptr, ptr ") == std::string::npos) continue;
    if (line.find("!invariant.load") == std::string::npos) continue;
    ++bases;
    if (line.find("!align") != std::string::npos) ++aligned;
  }
  EXPECT_GE(bases, 3u) << text;
  EXPECT_EQ(aligned, 1u) << text;
}

}  // namespace
}  // namespace relay::vm::vm_alignment_test
