// From a path on the command line to a program that can be compiled, evaluated or printed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <relay/ir/module.h>
#include <relay/runtime/params.h>
#include <relay/runtime/value.h>

#include <tools/relay/bind.h>

namespace relay::tool {

/// The contents of a program's file: the typed module, and weights by the names of the parameters
/// of its entry, if the format has any.
struct ProgramSource {
  Module module;
  NamedArrays weights;
};

/// Told the name of each stage when it ends.
using Lap = std::function<void(const char* stage)>;

/// Reads and types a program. Throws `Error`.
ProgramSource read_source(const std::string& path, const Lap& lap = {});

/// A program of which nothing is open but the values of its arguments.
struct Program {
  Module module;                     // specialised and typed
  Name entry;                        // its parameters are those that no weights were given for
  std::vector<Value> arguments;      // one for each of them, unless they come later
  std::vector<std::string> made_up;  // of these, see made_up_texts
  /// Names of extents that the program leaves open and the arguments decide.
  std::vector<std::string> decided_extents;
};

enum class Arguments {
  kGiven,   // every parameter has a value: the program is for those and runs on them
  kMadeUp,  // the same, and a parameter without a value gets one that is made up
  kLater,   // parameters without weights are what their declarations say
};

/// Specialises a program and makes constants of its entry's weights: those of the source and of
/// files (`--params`), unless `--arg` gives the parameter another value. With `Arguments::kGiven`,
/// if only the source and files give values, those of files stay arguments: the program would have
/// nothing left to do. Throws `Error`.
Program bind_program(ProgramSource source, const std::string& entry, const Given& given,
                     Arguments when, const Lap& lap = {});

}  // namespace relay::tool
