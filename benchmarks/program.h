// Program text to something that runs, in this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

namespace relay::bench {

/// A typed module whose @main is specialised to the types that its parameters declare.
inline Module typed_module(const std::string& text) {
  Module module = parse_module("bench", text);
  infer_types_or_throw(module);
  std::vector<TypeRef> types;
  FunctionRef main(module.function("main"));
  for (const VarRef& param : main->params()) types.push_back(param->annotation());
  return specialize(module, "main", types);
}

/// The executable of @main.
inline std::shared_ptr<const vm::Executable> compile_text(const std::string& text,
                                                          const vm::CompileOptions& options = {}) {
  return vm::compile(typed_module(text), "main", options);
}

/// A tensor of numbers between -0.5 and 0.5, the same ones in each run.
inline NDArray random_floats(const std::vector<int64_t>& shape, uint32_t seed = 1) {
  NDArray array = NDArray::empty(shape, kFloat32);
  auto* data = static_cast<float*>(array.raw());
  uint32_t state = 2463534242u + 977u * seed;
  for (int64_t i = 0; i < array.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    data[i] = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  return array;
}

}  // namespace relay::bench
