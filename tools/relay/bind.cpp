#include <tools/relay/bind.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include <relay/infer/infer.h>
#include <relay/infer/runtime/type_checks.h>
#include <relay/infer/solve/constraints.h>
#include <relay/print/text.h>
#include <relay/runtime/made_up.h>
#include <relay/support/error.h>
#include <relay/support/hash.h>
#include <relay/support/suggest.h>

#include <tools/relay/argument.h>
#include <tools/relay/command.h>

namespace relay::tool {

// Literals for a dtype that only floats can be become float32, as `exp(%x)` of a parameter that
// nobody annotated asks for. Types nest no deeper than Type::kMaxDepth.
static void adapt_open_floats(TypeInfo& info, const Type* type,
                              const std::vector<const Type*>& floats) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (size_t i = 0; i < info.fields.size() && i < tuple->fields().size(); ++i)
      adapt_open_floats(info.fields[i], tuple->fields()[i].get(), floats);
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || tensor->has_dtype() || info.kind != TypeInfo::Kind::kTensor) return;
  if (std::find(floats.begin(), floats.end(), tensor->dtype_type().get()) != floats.end())
    info.dtype = kFloat32;
}

Parameters parameters_of(const Module& module, const Module::FunctionEntry& entry) {
  Parameters parameters{entry.name.str(), argument_check(module, entry.name)};
  const TypeRef signature = function_signature(module, entry.name);
  const auto* type = signature ? signature->as<FuncType>() : nullptr;
  if (type == nullptr) return parameters;
  std::vector<const Type*> floats;
  for (const RelationTypeRef& demand : type->constraints()) {
    if (inference::is_float_demand(*demand)) floats.push_back(demand->args().front().get());
  }
  for (size_t i = 0; i < type->params().size() && i < parameters.size(); ++i)
    adapt_open_floats(parameters.check.parts[i].type, type->params()[i].get(), floats);
  return parameters;
}

void add_given_options(CLI::App& command, Given& given) {
  command
      .add_option(
          "--arg", given.args,
          "Argument, in order or as NAME=V. V is a number, True, False or nested lists of them, "
          "with an optional dtype (3:int64); ones(2,3), zeros(2,3), full(1.5, 2,3), random(2,3); "
          "an array of a file, @x.npy or @x.npz:NAME; a tuple (1, 2); a value of a data type, "
          "Cons(1, Nil), or [1, 2] for lists; a reference ref(1); the JSON of `run --format json`, "
          "or a file of it, @x.json. random gives floats uniform in [0, 1), integers from 0 to 99, "
          "each bool with equal chance; random(2,3, normal(0,1)), uniform(-1,1) and seed=7 choose "
          "others; random alone makes up a value of the parameter's type. Each parameter gets "
          "numbers of its own.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--seed", given.seed,
                  "The numbers of random(...) follow from this one and the parameter's place "
                  "(default 0).")
      ->check(CLI::Range(int64_t{0}, int64_t{UINT32_MAX}));
  command
      .add_option("--dim", given.dims,
                  "The extent of a dimension that the arguments leave open, for values that are "
                  "made up, as NAME=N (else a small one).")
      ->option_text("NAME=N")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
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
  return name_text(parameters.name(k)) + ": " + parameters.check.parts[k].text;
}

bool Bound::only_weights() const {
  return std::find(weights.begin(), weights.end(), false) == weights.end();
}

// The parameters that take arguments: those that come with the program do not count.
static std::string wanted_text(const Parameters& parameters, const Bound& bound) {
  constexpr size_t kMost = 10;
  size_t count = 0;
  std::string list;
  for (size_t k = 0; k < parameters.size(); ++k) {
    if (bound.own[k]) continue;
    if (++count <= kMost) list += (count > 1 ? ", " : "") + parameter_text(parameters, k);
  }
  if (count > kMost) list += ", …";
  size_t weights = parameters.size() - count;
  std::string text = std::to_string(count) + (count == 1 ? " argument" : " arguments");
  if (weights > 0) text += " beside the program's own " + std::to_string(weights);
  return count == 0 ? text : text + ", " + list;
}

// The error about missing arguments of a call.
static Diagnostic missing_values(const Parameters& parameters, const std::vector<Value>& values) {
  std::string missing;
  for (size_t k = 0; k < values.size(); ++k) {
    if (!values[k]) missing += (missing.empty() ? "" : ", ") + parameter_text(parameters, k);
  }
  return Diagnostic::error("@" + parameters.function + " needs a value for " + missing)
      .help(
          "give values with --arg VALUE, --arg NAME=VALUE or --params FILE; --arg random makes "
          "one up");
}

// An option as it was given, unless it is long.
static std::string option_text(const std::string& text) {
  constexpr size_t kMost = 60;
  return "--arg " + (text.size() > kMost ? text.substr(0, kMost) + "…" : text);
}

namespace {

// `--dim n=3`.
std::map<std::string, int64_t> wanted_extents(const Parameters& parameters, const Given& given) {
  std::map<std::string, int64_t> extents;
  for (const std::string& text : given.dims) {
    const size_t equals = text.rfind('=');
    const std::string name = text.substr(0, equals);
    int64_t extent = -1;
    if (equals != std::string::npos) {
      const char* end = text.data() + text.size();
      auto [stop, error] = std::from_chars(text.data() + equals + 1, end, extent);
      if (error != std::errc() || stop != end) extent = -1;
    }
    if (extent < 0) throw Error("--dim " + text + ": expected NAME=EXTENT, as in n=16");
    const std::vector<std::string>& names = parameters.check.symbols;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      Diagnostic diagnostic =
          Diagnostic::error("no parameter of @" + parameters.function + " has a dimension " + name +
                            " (--dim " + text + ")");
      suggest(diagnostic, name, names);
      throw Error(std::move(diagnostic));
    }
    extents[name] = extent;
  }
  return extents;
}

// Gives parameters their values, one after the other.
class Binder {
 public:
  Binder(const Parameters& parameters, const Given& given)
      : parameters_(parameters), given_(given), extents_(wanted_extents(parameters, given)) {
    const size_t count = parameters.size();
    bound_.values.resize(count);
    bound_.own.resize(count);
    bound_.weights.resize(count);
    bound_.origins.resize(count);
    bound_.made_up.resize(count);
  }

  void add_weights(NamedArrays arrays, const std::string& from, bool is_own) {
    for (auto& [name, array] : arrays) {
      const size_t i = position(name);
      if (i == parameters_.size()) {
        report({Diagnostic::warning(from + ": " + name + " is not a parameter of @" +
                                    parameters_.function)});
        continue;
      }
      bound_.values[i] = Value(std::move(array));
      bound_.weights[i] = true;
      bound_.own[i] = is_own;
      if (!is_own) bound_.origins[i] = from;
    }
  }

  // Decides which parameter each argument is for, then reads first those whose extents do not
  // follow from others.
  void read_arguments() {
    std::vector<std::pair<size_t, Argument>> chosen = choose();
    std::stable_partition(chosen.begin(), chosen.end(),
                          [](const auto& one) { return !needs_extents(one.second.text); });
    for (const auto& [i, argument] : chosen) read(i, argument);
  }

  void make_up_missing() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (bound_.values[i]) continue;
      try {
        Extents extents = known_extents();
        bound_.values[i] =
            made_up(parameters_.check, parameters_.type(i), extents, hash_combine(given_.seed, i));
      } catch (const Error& error) {
        throw Error(
            Diagnostic::error("@" + parameters_.function + " needs a value for " +
                              parameter_text(parameters_, i) + ": " + error.what())
                .help(parameters_.type(i).kind == TypeInfo::Kind::kFunction
                          ? "run a function that calls @" + parameters_.function + " with one"
                          : "give one with --arg"));
      }
      bound_.made_up[i] = true;
    }
  }

  Bound take() { return std::move(bound_); }

 private:
  size_t position(const std::string& name) const {
    size_t i = 0;
    while (i < parameters_.size() && parameters_.name(i) != name) ++i;
    return i;
  }

  size_t named(const Argument& argument, const std::string& option) const {
    const size_t i = position(*argument.name);
    if (i < parameters_.size()) return i;
    Diagnostic diagnostic = Diagnostic::error("@" + parameters_.function + " has no parameter " +
                                              *argument.name + " (--arg " + option + ")");
    std::vector<std::string> names;
    for (size_t k = 0; k < parameters_.size(); ++k) names.push_back(parameters_.name(k));
    if (std::string text = did_you_mean_or_has(*argument.name, names); !text.empty())
      diagnostic.help(std::move(text));
    throw Error(std::move(diagnostic));
  }

  // First those with names, then the others in order.
  std::vector<std::pair<size_t, Argument>> choose() {
    std::vector<std::pair<size_t, Argument>> chosen;
    std::vector<Argument> in_order;
    std::vector<bool> by_name(parameters_.size(), false);
    std::vector<bool> taken(parameters_.size(), false);
    for (size_t k = 0; k < taken.size(); ++k) taken[k] = static_cast<bool>(bound_.values[k]);
    for (size_t k = 0; k < given_.args.size(); ++k) {
      const std::string& option = given_.args[k];
      Argument argument = split_argument(option, static_cast<int>(k + 1));
      if (!argument.name) {
        in_order.push_back(std::move(argument));
        continue;
      }
      const size_t i = named(argument, option);
      if (by_name[i])
        throw Error(name_text(parameters_.name(i)) + " is given twice, the second time by --arg " +
                    option);
      by_name[i] = taken[i] = true;
      bound_.own[i] = bound_.weights[i] = false;
      bound_.origins[i] = option_text(option);
      chosen.emplace_back(i, std::move(argument));
    }
    size_t i = 0;
    for (Argument& argument : in_order) {
      while (i < taken.size() && taken[i]) ++i;
      if (i == taken.size())
        throw Error("@" + parameters_.function + " takes " + wanted_text(parameters_, bound_) +
                    "; --arg " + argument.text + " is one too many");
      taken[i] = true;
      bound_.origins[i] = option_text(argument.text);
      chosen.emplace_back(i, std::move(argument));
    }
    return chosen;
  }

  void read(size_t i, const Argument& argument) {
    WantedValue wanted;
    wanted.check = &parameters_.check;
    wanted.type = &parameters_.type(i);
    wanted.text = parameters_.check.parts[i].text;
    wanted.seed = hash_combine(given_.seed, i);
    bound_.values[i] = Value();
    wanted.extents = [this] { return known_extents(); };
    bound_.values[i] = read_argument(argument, wanted);
  }

  // Extents as the values that are known so far decide them.
  Extents known_extents() const {
    Extents extents(parameters_.check, extents_);
    for (size_t k = 0; k < parameters_.size(); ++k)
      extents.learn(parameters_.type(k), bound_.values[k]);
    return extents;
  }

  const Parameters& parameters_;
  const Given& given_;
  std::map<std::string, int64_t> extents_;
  Bound bound_;
};

}  // namespace

Bound bind_arguments(const Parameters& parameters, const Given& given, NamedArrays own,
                     Missing missing) {
  Binder binder(parameters, given);
  binder.add_weights(std::move(own), "the program", true);
  for (const std::string& path : given.params) binder.add_weights(load_params(path), path, false);
  binder.read_arguments();
  if (missing == Missing::kMakeUp) binder.make_up_missing();
  Bound bound = binder.take();
  if (missing == Missing::kError &&
      std::any_of(bound.values.begin(), bound.values.end(), [](const Value& v) { return !v; }))
    throw Error(missing_values(parameters, bound.values));
  return bound;
}

std::vector<std::string> made_up_texts(const Parameters& parameters, const Bound& bound) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < bound.values.size(); ++i) {
    if (!bound.made_up[i]) continue;
    const Value& value = bound.values[i];
    texts.push_back(name_text(parameters.name(i)) + ": " +
                    (value.is_tensor() ? value_type_text(value) : parameters.check.parts[i].text));
  }
  return texts;
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
      const TypeInfo& wanted = parameters.type(i);
      const Value& value = bound.values[i];
      if (wanted.kind != TypeInfo::Kind::kTensor || wanted.dtype == DType() || !value ||
          !value.is_tensor())
        continue;
      const bool of_file =
          !bound.origins[i].starts_with("--arg") || bound.origins[i].find('@') != std::string::npos;
      if (!of_file || value.array().dtype() == wanted.dtype) continue;
      const std::string dtype(wanted.dtype.name());
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
