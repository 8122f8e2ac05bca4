#include <tools/relay/program.h>

#include <utility>

#include <relay/infer/devices/devices.h>
#include <relay/infer/infer.h>
#include <relay/infer/runtime/type_checks.h>
#include <relay/support/error.h>
#include <relay/transform/program.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

// The values that stay arguments of the program once its constants are in it.
std::vector<Value> arguments_of(Bound& bound) {
  std::vector<Value> rest;
  for (size_t i = 0; i < bound.values.size(); ++i) {
    if (!bound.weights[i]) rest.push_back(std::move(bound.values[i]));
  }
  return rest;
}

}  // namespace

ProgramSource read_source(const std::string& path, const Lap& lap) {
  ProgramSource source;
  source.module = read_program(path, true, &source.weights);
  if (lap) lap("parse");
  check_program(source.module, path);
  if (lap) lap("infer");
  return source;
}

Program bind_program(ProgramSource source, const std::string& entry, const Given& given,
                     Arguments when, const Lap& lap) {
  const Module::FunctionEntry& function = find_entry(source.module, entry);
  Program program;
  program.entry = function.name;
  const Parameters parameters = parameters_of(source.module, function);
  const bool given_now = when != Arguments::kLater;
  const Missing missing = when == Arguments::kGiven    ? Missing::kError
                          : when == Arguments::kMadeUp ? Missing::kMakeUp
                                                       : Missing::kLeave;
  Bound bound = bind_arguments(parameters, given, std::move(source.weights), missing);
  program.made_up = made_up_texts(parameters, bound);
  if (given_now) program.decided_extents = parameters.check.symbols;
  try {
    if (given_now) check_arguments(source.module, program.entry, bound.values);
    if (lap) lap("arguments");
    if (given_now && bound.only_weights()) bound.weights = bound.own;
    program.module =
        close_program(std::move(source.module), program.entry, bound.values, bound.weights);
  } catch (const RuntimeError& error) {
    throw RuntimeError(with_origins(error.diagnostics(), parameters, bound));
  } catch (const Error& error) {
    throw Error(with_origins(error.diagnostics(), parameters, bound));
  }
  program.arguments = arguments_of(bound);
  if (given_now) place_arguments(program.arguments, program.module, program.entry);
  if (lap) lap("specialize");
  return program;
}

}  // namespace relay::tool
