// Running the programs of cases.
#include <algorithm>

#include <tests/conformance/data.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/lower/loops.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

namespace relay::conformance {

std::string executor = "eval";
std::string target = "host";

Value run_main(const Module& module, const Json& inputs) {
  std::vector<Value> arguments;
  for (const Json& input : inputs) arguments.emplace_back(read_array(input));
  return run_main(module, std::move(arguments));
}

Value run_main(const Module& module, std::vector<Value> arguments) {
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  Module special = specialize(module, "main", types);
  if (executor == "eval") return evaluate_function(special, "main", arguments);
  vm::CompileOptions options;
  options.direct = executor == "vm-direct";
  options.target = codegen::Target::parse(target);
  std::vector<std::shared_ptr<const lower::Kernel>> kernels;
  if (executor == "vm") options.kernels = &kernels;
  auto executable = vm::compile(special, Name("main"), options);
  for (const auto& kernel : kernels) {
    if (kernel->products_in_loops > 0) {
      throw Error("a product is computed in loops of kernel " + kernel->name + ", " +
                  kernel->implementation);
    }
  }
  return vm::Machine(executable).run("main", arguments);
}

double tolerance_of(const Json& json, double otherwise) {
  constexpr double kNative = 1e-6;
  double tolerance = json.value("tolerance", otherwise);
  return executor == "vm" ? std::max(tolerance, kNative) : tolerance;
}

}  // namespace relay::conformance
