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
#include <relay/runtime/type_check.h>
#include <relay/runtime/value.h>
#include <relay/support/diagnostic.h>

namespace relay::tool {

/// The parameters that a function wants.
struct Parameters {
  std::string function;  // its name without the sigil
  /// A part for each parameter: its type, the type's text and the bare name.
  TypeCheck check;
  size_t size() const { return check.parts.size(); }
  const std::string& name(size_t k) const { return check.parts[k].what; }
  const TypeInfo& type(size_t k) const { return check.parts[k].type; }
};

/// The parameters of a function of a typed module.
Parameters parameters_of(const Module& module, const Module::FunctionEntry& entry);

/// The values that are given: `--arg` and `--params`, see `relay run --help`.
struct Given {
  std::vector<std::string> args;
  std::vector<std::string> params;
  uint32_t seed = 0;                   // of random numbers
  std::vector<std::string> dims = {};  // NAME=EXTENT, for values that are made up
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
  std::vector<bool> made_up;         // nobody gave it (`Missing::kMakeUp`)

  bool only_weights() const;
};
/// What becomes of a parameter without a value.
enum class Missing {
  kError,   // it is an error
  kLeave,   // it has no value
  kMakeUp,  // a value of its type is made up
};
/// From `own` (which comes with the program) and from files by name, from `name=V` by name, the
/// rest in order. Throws `Error` for one that is superfluous, given twice or cannot be read.
Bound bind_arguments(const Parameters& parameters, const Given& given, NamedArrays own = {},
                     Missing missing = Missing::kError);
/// The values that were made up, as lines for people: "%x: Tensor[(2, 3), float32]".
std::vector<std::string> made_up_texts(const Parameters& parameters, const Bound& bound);

/// Says in errors about arguments of a function ("argument 2 of @main, …") where their values come
/// from, and how to convert one whose dtype differs.
std::vector<Diagnostic> with_origins(std::vector<Diagnostic> diagnostics,
                                     const Parameters& parameters, const Bound& bound);

/// Puts tensors where a program wants them.
void place_arguments(std::vector<Value>& arguments, std::span<const DeviceTree> devices);
/// The same for the parameters of a function of a specialised module.
void place_arguments(std::vector<Value>& arguments, const Module& module, Name entry);

}  // namespace relay::tool
