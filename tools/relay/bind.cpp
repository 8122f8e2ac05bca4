#include <tools/relay/bind.h>

#include <algorithm>
#include <utility>

#include <relay/print/text.h>
#include <relay/support/error.h>
#include <relay/support/hash.h>
#include <relay/support/suggest.h>

#include <tools/relay/argument.h>
#include <tools/relay/command.h>

namespace relay::tool {

Parameters parameters_of(const Module::FunctionEntry& entry, const Type* signature) {
  Parameters result;
  result.function = entry.name.str();
  for (const VarRef& param : entry.function->params()) result.names.push_back(param->name().str());
  result.types.resize(result.names.size());
  if (const auto* type = signature == nullptr ? nullptr : signature->as<FuncType>()) {
    for (size_t i = 0; i < result.types.size() && i < type->params().size(); ++i)
      result.types[i] = type->params()[i];
  }
  return result;
}

void add_given_options(CLI::App& command, Given& given) {
  command
      .add_option(
          "--arg", given.args,
          "Argument, in order or as NAME=V. V is a number, True, False or nested lists of them, "
          "with an optional dtype (3:int64); ones(2,3), zeros(2,3), full(1.5, 2,3), random(2,3); "
          "or an array of a file, @x.npy or @x.npz:NAME. random gives floats uniform in [0, 1), "
          "integers uniform in 0 to 99, and each bool with equal chance; each parameter gets "
          "numbers of its own.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--seed", given.seed,
                  "The numbers of random(...) follow from this one and the parameter's place "
                  "(default 0).")
      ->check(CLI::Range(int64_t{0}, int64_t{UINT32_MAX}));
  add_params_option(command, given);
}

void add_params_option(CLI::App& command, Given& given) {
  command
      .add_option("--params", given.params,
                  "Take weights, by the names of parameters, from a .npz, .safetensors or .params "
                  "file; they become constants of the compiled program.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

static std::string name_text(const std::string& name) {
  std::string text;
  printing::append_name(text, '%', name);
  return text;
}

// "%x: Tensor[(2), float32]", as far as the type is known.
static std::string parameter_text(const Parameters& parameters, size_t k) {
  std::string text = name_text(parameters.names[k]);
  if (k < parameters.texts.size()) return text + ": " + parameters.texts[k];
  return parameters.types[k] ? text + ": " + parameters.types[k]->str() : text;
}

bool Bound::only_weights() const {
  return std::find(weights.begin(), weights.end(), false) == weights.end();
}

// The parameters that take arguments: those that come with the program do not count.
static std::string wanted_text(const Parameters& parameters, const Bound& bound) {
  constexpr size_t kMost = 10;
  size_t count = 0;
  std::string list;
  for (size_t k = 0; k < parameters.names.size(); ++k) {
    if (bound.own[k]) continue;
    if (++count <= kMost) list += (count > 1 ? ", " : "") + parameter_text(parameters, k);
  }
  if (count > kMost) list += ", …";
  size_t weights = parameters.names.size() - count;
  std::string text = std::to_string(count) + (count == 1 ? " argument" : " arguments");
  if (weights > 0) text += " beside the program's own " + std::to_string(weights);
  return count == 0 ? text : text + ", " + list;
}

// The error about missing arguments of a call.
static Diagnostic missing_values(const Parameters& parameters, const std::vector<Value>& values) {
  std::string missing;
  bool all_tensors = true;
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k]) continue;
    missing += (missing.empty() ? "" : ", ") + parameter_text(parameters, k);
    if (is_no_tensor(parameters.types[k].get())) all_tensors = false;
  }
  return Diagnostic::error("@" + parameters.function + " needs a value for " + missing)
      .help(all_tensors ? "give values with --arg VALUE, --arg NAME=VALUE or --params FILE"
                        : "only tensors can be given: run a function of tensors that makes "
                          "the other values and calls @" +
                              parameters.function);
}

// An option as it was given, unless it is long.
static std::string option_text(const std::string& text) {
  constexpr size_t kMost = 60;
  return "--arg " + (text.size() > kMost ? text.substr(0, kMost) + "…" : text);
}

Bound bind_arguments(const Parameters& parameters, const Given& given, NamedArrays own, bool all) {
  const std::string& entry = parameters.function;
  const std::vector<std::string>& names = parameters.names;
  const std::vector<TypeRef>& types = parameters.types;
  Bound bound;
  bound.values.resize(names.size());
  bound.own.resize(names.size());
  bound.weights.resize(names.size());
  bound.origins.resize(names.size());
  std::vector<Value>& values = bound.values;
  auto position = [&](const std::string& name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  auto add_weights = [&](NamedArrays arrays, const std::string& from, bool is_own) {
    for (auto& [name, array] : arrays) {
      size_t i = position(name);
      if (i == names.size()) {
        report({Diagnostic::warning(from + ": " + name + " is not a parameter of @" + entry)});
      } else {
        values[i] = Value(std::move(array));
        bound.weights[i] = true;
        bound.own[i] = is_own;
        if (!is_own) bound.origins[i] = from;
      }
    }
  };
  add_weights(std::move(own), "the program", true);
  for (const std::string& path : given.params) add_weights(load_params(path), path, false);
  std::vector<Argument> in_order;
  std::vector<bool> by_name(names.size(), false);
  for (size_t k = 0; k < given.args.size(); ++k) {
    Argument argument = split_argument(given.args[k], static_cast<int>(k + 1));
    if (!argument.name) {
      in_order.push_back(std::move(argument));
      continue;
    }
    size_t i = position(*argument.name);
    if (i == names.size()) {
      Diagnostic diagnostic = Diagnostic::error("@" + entry + " has no parameter " +
                                                *argument.name + " (--arg " + given.args[k] + ")");
      suggest(diagnostic, *argument.name, names);
      throw Error(std::move(diagnostic));
    }
    if (by_name[i])
      throw Error(name_text(names[i]) + " is given twice, the second time by --arg " +
                  given.args[k]);
    by_name[i] = true;
    bound.own[i] = bound.weights[i] = false;
    bound.origins[i] = option_text(given.args[k]);
    values[i] = read_argument(argument, types[i].get(), hash_combine(given.seed, i));
  }
  size_t i = 0;
  for (const Argument& argument : in_order) {
    while (i < values.size() && values[i]) ++i;
    if (i == values.size()) {
      throw Error("@" + entry + " takes " + wanted_text(parameters, bound) + "; --arg " +
                  argument.text + " is one too many");
    }
    bound.origins[i] = option_text(argument.text);
    values[i] = read_argument(argument, types[i].get(), hash_combine(given.seed, i));
  }
  if (all && std::any_of(values.begin(), values.end(), [](const Value& v) { return !v; }))
    throw Error(missing_values(parameters, values));
  return bound;
}

std::vector<Diagnostic> with_origins(std::vector<Diagnostic> diagnostics,
                                     const Parameters& parameters, const Bound& bound) {
  for (Diagnostic& diagnostic : diagnostics) {
    for (size_t i = 0; i < bound.values.size(); ++i) {
      const std::string about = "argument " + std::to_string(i + 1) + " of @" + parameters.function;
      if (!diagnostic.message.starts_with(about + ",") &&
          !diagnostic.message.starts_with(about + ":"))
        continue;
      if (!bound.origins[i].empty()) diagnostic.note("the value comes from " + bound.origins[i]);
      const auto* wanted = parameters.types[i] ? parameters.types[i]->as<TensorType>() : nullptr;
      const Value& value = bound.values[i];
      if (wanted == nullptr || !wanted->has_dtype() || !value || !value.is_tensor()) continue;
      const bool of_file =
          !bound.origins[i].starts_with("--arg") || bound.origins[i].find('@') != std::string::npos;
      if (!of_file || value.array().dtype() == wanted->dtype()) continue;
      const std::string dtype(wanted->dtype().name());
      diagnostic.help("convert it to " + dtype + ": in NumPy by array.astype(\"" + dtype + "\")");
    }
  }
  return diagnostics;
}

// Tuples nest no deeper than types do.
static Value on_devices(const Value& value, const DeviceTree& devices) {
  if (value.is_tuple()) {
    std::vector<Value> fields;
    for (size_t i = 0; i < value.fields().size(); ++i) {
      fields.push_back(
          on_devices(value.field(i), i < devices.fields.size() ? devices.fields[i] : devices));
    }
    return Value::tuple(std::move(fields));
  }
  if (!value.is_tensor() || value.shape().empty() || value.device() == devices.device) return value;
  return Value(value.array().on(devices.device));
}

void place_arguments(std::vector<Value>& arguments, std::span<const DeviceTree> devices) {
  for (size_t i = 0; i < arguments.size() && i < devices.size(); ++i)
    arguments[i] = on_devices(arguments[i], devices[i]);
}

void place_arguments(std::vector<Value>& arguments, const Module& module, Name entry) {
  if (!uses_devices(module)) return;
  Module planned = plan_devices(module, DeviceNeed::kUsable);
  Devices devices(planned);
  std::vector<DeviceTree> trees;
  for (const VarRef& param : planned.function(entry)->params())
    trees.push_back(devices.tree(param.get()));
  place_arguments(arguments, trees);
}

}  // namespace relay::tool
