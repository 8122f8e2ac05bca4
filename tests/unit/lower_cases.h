// The recorded operator cases (tests/op/data) as primitive functions with inputs.
#pragma once

#include <functional>
#include <string>
#include <utility>
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
/// The same with float64 in the place of float32, inputs and attributes.
std::vector<LowerCase> lower_cases_in_double(const std::string& file);
/// All files.
std::vector<std::string> lower_case_files();
/// One function from a text `fn (%x: …) { … }`-like program with a @main.
FunctionRef main_function(const std::string& program, const std::vector<TypeRef>& types);
TypeRef array_type(const NDArray& array);
/// Extents that have become symbols.
using Symbols = std::vector<std::pair<int64_t, TypeVarRef>>;
/// The types of the inputs with extents above 1 as symbols, equal ones the same.
std::vector<TypeRef> symbolic_types(const std::vector<NDArray>& inputs, Symbols& symbols);
/// The extent that a symbol stands for; -1 for one of others.
int64_t value_of(const Symbols& symbols, const TypeVar* symbol);
/// Empty if the arrays have the same types and, by `tolerance` times the wanted number (but at
/// least 1), the same elements; else what differs.
std::string difference(const std::vector<NDArray>& found, const std::vector<NDArray>& wanted,
                       const std::function<double(DType)>& tolerance);
/// Float data that repeats after nothing: deterministic in `seed`.
NDArray random_array(std::span<const int64_t> shape, DType dtype, uint32_t seed);

}  // namespace relay::testing
