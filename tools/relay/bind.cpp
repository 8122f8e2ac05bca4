#include <tools/relay/bind.h>

#include <algorithm>
#include <utility>

#include <relay/runtime/params.h>
#include <relay/support/error.h>
#include <relay/support/hash.h>

#include <tools/relay/argument.h>
#include <tools/relay/command.h>

namespace relay::tool {

const Module::FunctionEntry& find_entry(const Module& module, const std::string& name) {
  std::vector<std::string> names;
  for (const Module::FunctionEntry& entry : module.functions()) {
    if (entry.name == Name(name)) return entry;
    names.push_back(entry.name.str());
  }
  if (name.empty()) {
    if (const Module::FunctionEntry* entry = module.entry()) return *entry;
    if (names.empty()) throw Error("the program has no function to run");
    std::string list;
    for (size_t i = 0; i < names.size() && i < 10; ++i) list += (i > 0 ? ", @" : "@") + names[i];
    throw Error("the program has no @main; choose a function with --entry, of " + list);
  }
  Diagnostic diagnostic = Diagnostic::error("there is no function @" + name);
  for (const std::string& near : nearest_names(name, names))
    diagnostic.help("did you mean @" + near + "?");
  throw Error(std::move(diagnostic));
}

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
          "with an "
          "optional dtype (3:int64), ones(2,3), zeros(2,3), full(1.5, 2,3), random(2,3), @x.npy or "
          "@x.npz:NAME. random gives floats uniform in [0, 1), integers uniform in 0 to 99, bools "
          "even, other ones for each parameter.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--seed", given.seed,
                  "What random(...) gives follows from this number and the parameter's place "
                  "(default 0).")
      ->check(CLI::Range(int64_t{0}, int64_t{UINT32_MAX}));
  command
      .add_option("--params", given.params,
                  "Arguments by name from a .npz, .safetensors or .params file.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::vector<Value> bind_arguments(const Parameters& parameters, const Given& given) {
  const std::string& entry = parameters.function;
  const std::vector<std::string>& names = parameters.names;
  const std::vector<TypeRef>& types = parameters.types;
  std::vector<Value> values(names.size());
  auto position = [&](const std::string& name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  for (const auto& [name, array] : given.own) {
    if (size_t i = position(name); i < names.size()) values[i] = Value(array);
  }
  for (const std::string& path : given.params) {
    for (auto& [name, array] : load_params(path)) {
      size_t i = position(name);
      if (i == names.size()) {
        report({Diagnostic::warning(path + ": " + name + " is no parameter of @" + entry)});
      } else {
        values[i] = Value(std::move(array));
      }
    }
  }
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
      for (const std::string& near : nearest_names(*argument.name, names)) {
        diagnostic.help("did you mean " + near + "?");
      }
      throw Error(std::move(diagnostic));
    }
    if (by_name[i])
      throw Error("%" + names[i] + " is given twice, the second time by --arg " + given.args[k]);
    by_name[i] = true;
    values[i] = read_argument(argument, types[i].get(), hash_combine(given.seed, i));
  }
  size_t i = 0;
  for (const Argument& argument : in_order) {
    while (i < values.size() && values[i]) ++i;
    if (i == values.size()) {
      throw Error("@" + entry + " takes " + std::to_string(names.size()) +
                  (names.size() == 1 ? " argument" : " arguments") + "; --arg " + argument.text +
                  " is one too many");
    }
    values[i] = read_argument(argument, types[i].get(), hash_combine(given.seed, i));
  }
  std::string missing;
  bool all_tensors = true;
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k]) continue;
    missing += (missing.empty() ? "%" : ", %") + names[k];
    if (k < parameters.texts.size()) {
      missing += ": " + parameters.texts[k];
    } else if (types[k]) {
      missing += ": " + types[k]->str();
    }
    if (is_no_tensor(types[k].get())) all_tensors = false;
  }
  if (!missing.empty()) {
    throw Error(Diagnostic::error("@" + entry + " needs a value for " + missing)
                    .help(all_tensors
                              ? "give values with --arg VALUE, --arg NAME=VALUE or --params FILE"
                              : "only tensors can be given: run a function of tensors that makes "
                                "the other values and calls @" +
                                    entry));
  }
  return values;
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
