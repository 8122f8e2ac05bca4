// Values for the parameters of a function, from the command line and from files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <relay/infer/devices/devices.h>
#include <relay/ir/module.h>
#include <relay/runtime/params.h>
#include <relay/runtime/value.h>
#include <relay/support/diagnostic.h>

namespace relay::tool {

/// The parameters that a function wants.
struct Parameters {
  std::string function;            // its name without the sigil
  std::vector<std::string> names;  // without theirs
  std::vector<TypeRef> types;      // null where unknown
  std::vector<std::string> texts;  // how messages show the types, if not as they are
};

/// The parameters of a function with their types, if it has a signature yet.
Parameters parameters_of(const Module::FunctionEntry& entry, const Type* signature);

/// The values that are given: `--arg` and `--params`, see `relay run --help`.
struct Given {
  std::vector<std::string> args;
  std::vector<std::string> params;
  uint32_t seed = 0;  // of random(…)
};

void add_given_options(CLI::App& command, Given& given);
/// `--params` alone.
void add_params_option(CLI::App& command, Given& given);

/// A value for each parameter.
struct Bound {
  std::vector<Value> values;         // empty where there is none
  std::vector<bool> own;             // it comes with the program
  std::vector<bool> weights;         // the same, or it comes from a file of `--params`
  std::vector<std::string> origins;  // "w.npz", "--arg @x.npy": empty for the program's own

  bool only_weights() const;
};
/// From `own` (which comes with the program) and from files by name, from `name=V` by name, the
/// rest in order. Throws `Error` for one that is superfluous, given twice or cannot be read, or if
/// `all` parameters shall have values and one has none.
Bound bind_arguments(const Parameters& parameters, const Given& given, NamedArrays own = {},
                     bool all = true);

/// Says in errors about arguments of a function ("argument 2 of @main, …") where their values come
/// from, and how to convert one whose dtype differs.
std::vector<Diagnostic> with_origins(std::vector<Diagnostic> diagnostics,
                                     const Parameters& parameters, const Bound& bound);

/// Puts tensors where a program wants them.
void place_arguments(std::vector<Value>& arguments, std::span<const DeviceTree> devices);
/// The same for the parameters of a function of a specialised module.
void place_arguments(std::vector<Value>& arguments, const Module& module, Name entry);

}  // namespace relay::tool
