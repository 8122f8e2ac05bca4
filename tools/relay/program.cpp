#include <tools/relay/program.h>

#include <unordered_map>
#include <utility>

#include <relay/eval/eval.h>
#include <relay/infer/devices.h>
#include <relay/infer/infer.h>
#include <relay/infer/type_checks.h>
#include <relay/support/error.h>
#include <relay/transform/bind_params.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

// A parameter's declared type where no value is: named dimensions that values decide are decided.
TypeRef open_type(const Parameters& parameters, size_t i,
                  const std::unordered_map<const TypeVar*, TypeRef>& decided) {
  TypeRef type = parameters.types[i];
  if (type) {
    type = substitute(type, [&](const TypeVar* var) {
      auto found = decided.find(var);
      return found == decided.end() ? TypeRef() : found->second;
    });
  }
  if (type && !type->has_incomplete() && !type->has_type_var()) return type;
  std::string text = type ? ": it may be any " + type->str() : "";
  throw Error(Diagnostic::error("the type of %" + parameters.names[i] + " of @" +
                                parameters.function + " is not known" + text)
                  .help("annotate the parameter"));
}

// The types that a function is compiled for: of values where there are some, else as declared.
std::vector<TypeRef> parameter_types(const Parameters& parameters, const Bound& bound) {
  std::vector<TypeRef> types(parameters.names.size());
  std::unordered_map<const TypeVar*, TypeRef> decided;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!bound.values[i]) continue;
    types[i] = value_type(bound.values[i]);
    const auto* declared = parameters.types[i] ? parameters.types[i]->as<TensorType>() : nullptr;
    const auto* found = types[i]->as<TensorType>();
    if (declared == nullptr || found == nullptr || !declared->has_rank()) continue;
    for (size_t d = 0; d < declared->dims().size() && d < found->dims().size(); ++d) {
      if (const TypeVar* symbol = declared->dims()[d].as_symbol())
        decided.emplace(symbol, DimType::make(found->dims()[d]));
    }
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i]) types[i] = open_type(parameters, i, decided);
  }
  return types;
}

// Takes the weights out of the arguments.
std::unordered_map<size_t, NDArray> take_weights(Bound& bound) {
  std::unordered_map<size_t, NDArray> weights;
  std::vector<Value> rest;
  for (size_t i = 0; i < bound.values.size(); ++i) {
    if (bound.weights[i]) {
      weights.emplace(i, bound.values[i].array());
    } else {
      rest.push_back(std::move(bound.values[i]));
    }
  }
  bound.values = std::move(rest);
  return weights;
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
  Parameters parameters =
      parameters_of(function, function_signature(source.module, program.entry).get());
  const bool given_now = when == Arguments::kGiven;
  Bound bound = bind_arguments(parameters, given, std::move(source.weights), given_now);
  if (given_now) check_arguments(source.module, program.entry, bound.values);
  std::vector<TypeRef> types = parameter_types(parameters, bound);
  if (lap) lap("arguments");
  program.module = specialize(source.module, program.entry, types);
  source.module = Module();
  if (given_now && bound.only_weights()) bound.weights = bound.own;
  std::unordered_map<size_t, NDArray> weights = take_weights(bound);
  program.arguments = std::move(bound.values);
  if (!weights.empty()) {
    program.module = bind_params(program.module, program.entry, weights);
    infer_types_or_throw(program.module);
  }
  if (given_now) place_arguments(program.arguments, program.module, program.entry);
  if (lap) lap("specialize");
  return program;
}

}  // namespace relay::tool
