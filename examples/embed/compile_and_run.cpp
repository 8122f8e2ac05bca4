// Relay inside a C++ program: text is parsed, typed, compiled to machine code and run here; with a
// file's name it is saved, too, for programs that have only the machine (run_saved.c).
//
//   compile_and_run [MODEL.rlx]
#include <cstdio>
#include <string>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/runtime/format.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/machine.h>

namespace {

// The number of rows is left open.
constexpr const char* kProgram = R"(
def @main(%x: Tensor[(n, 3), float32], %w: Tensor[(2, 3), float32]) {
  nn.softmax(nn.dense(%x, %w), axis=-1)
}
)";

void run(const char* output) {
  relay::Module module = relay::parse_module("program", kProgram);
  relay::infer_types_or_throw(module);

  // Compiled code is of a function at its types: here those that it declares.
  const relay::Name entry("main");
  const auto* type = relay::function_signature(module, entry)->as<relay::FuncType>();
  std::vector<relay::TypeRef> parameters(type->params().begin(), type->params().end());
  auto executable = relay::vm::compile(relay::specialize(module, entry, parameters), entry);
  if (output != nullptr) relay::vm::save_executable(*executable, output);

  relay::vm::Machine machine(executable);
  auto weights = relay::NDArray::from<float>({2, 3}, {1, 0, 0, 0, 1, 0});
  for (int64_t rows : {1, 2}) {
    std::vector<float> numbers(static_cast<size_t>(rows) * 3, 0.5F);
    numbers[0] = 1.5F;
    auto data = relay::NDArray::from<float>(relay::Shape{rows, 3}, std::span<const float>(numbers));
    std::vector<relay::Value> arguments{data, weights};
    std::printf("%s\n", relay::format_value(machine.run("main", arguments)).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : nullptr);
  } catch (const relay::Error& error) {
    std::fprintf(stderr, "%s", relay::render(error.diagnostics()).c_str());
    return 1;
  }
  return 0;
}
