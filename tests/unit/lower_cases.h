// The recorded operator cases (tests/op/data) as primitive functions with inputs.
#pragma once

#include <string>
#include <vector>

#include <relay/ir/module.h>
#include <relay/runtime/ndarray.h>

namespace relay::testing {

struct LowerCase {
  std::string name;
  FunctionRef function;  // monomorphic, literals resolved
  std::vector<NDArray> inputs;
  std::vector<TypeRef> types;  // of the inputs
};

/// Cases of one file (`"binary"`) whose programs are dataflow and do not expect an error.
std::vector<LowerCase> lower_cases(const std::string& file);
/// All files.
std::vector<std::string> lower_case_files();
/// One function from a text `fn (%x: …) { … }`-like program with a @main.
FunctionRef main_function(const std::string& program, const std::vector<TypeRef>& types);
TypeRef array_type(const NDArray& array);
/// Float data that repeats after nothing: deterministic in `seed`.
NDArray random_array(std::span<const int64_t> shape, DType dtype, uint32_t seed);

}  // namespace relay::testing
