#include <relay/transform/program.h>

#include <unordered_map>
#include <utility>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>
#include <relay/transform/bind_params.h>
#include <relay/transform/gradient/gradient.h>

namespace relay {

namespace {

using DecidedDims = std::unordered_map<const TypeVar*, TypeRef>;

bool is_open(const TypeRef& type) {
  return !type || type->has_incomplete() || type->has_type_var();
}

// The declared type of a parameter without a value, or of one without a type.
TypeRef declared_type(const Function& function, Name entry, size_t i, const FuncType* signature,
                      const DecidedDims& decided, bool has_value) {
  TypeRef type = signature == nullptr ? TypeRef() : signature->params()[i];
  if (type) {
    type = substitute(type, [&](const TypeVar* var) {
      auto found = decided.find(var);
      return found == decided.end() ? TypeRef() : found->second;
    });
  }
  if (!is_open(type)) return type;
  const Var& param = *function.params()[i];
  std::string text = type ? ": it may be any " + type->str() : "";
  const char* why = has_value ? " does not follow from its value" : " is not known";
  throw Error(
      Diagnostic::error("the type of %" + param.name().str() + " of @" + entry.str() + why + text,
                        param.span())
          .help("annotate the parameter"));
}

// The types of values if there are some, else the declared ones: values decide the named dimensions
// that they have.
std::vector<TypeRef> parameter_types(const Function& function, Name entry,
                                     const FuncType* signature, std::span<const Value> values) {
  std::vector<TypeRef> types(values.size());
  DecidedDims decided;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!values[i]) continue;
    types[i] = value_type(values[i]);
    const auto* declared =
        signature == nullptr ? nullptr : signature->params()[i]->as<TensorType>();
    const auto* found = types[i]->as<TensorType>();
    if (declared == nullptr || found == nullptr || !declared->has_rank()) continue;
    for (size_t d = 0; d < declared->dims().size() && d < found->dims().size(); ++d) {
      if (const TypeVar* symbol = declared->dims()[d].as_symbol())
        decided.emplace(symbol, DimType::make(found->dims()[d]));
    }
  }
  for (size_t i = 0; i < types.size(); ++i) {
    // The type of an empty list, say, does not follow from it.
    if (!types[i] || types[i]->has_incomplete())
      types[i] =
          declared_type(function, entry, i, signature, decided, static_cast<bool>(values[i]));
  }
  return types;
}

}  // namespace

void require_typed(Module& module, std::vector<Diagnostic>* warnings) {
  if (std::vector<Diagnostic> errors = verify(module); !errors.empty())
    throw Error(std::move(errors));
  infer_types_or_throw(module, warnings);
}

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
    throw Error("the program has no @main; choose its entry, of " + list);
  }
  Diagnostic diagnostic = Diagnostic::error("there is no function @" + name);
  suggest(diagnostic, name, names, "@");
  throw Error(std::move(diagnostic));
}

size_t find_parameter(const Function& function, Name entry, const std::string& name) {
  const auto& params = function.params();
  size_t found = params.size(), count = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i]->name().view() != name) continue;
    if (count++ == 0) found = i;
  }
  if (count == 1) return found;
  if (count > 1) {
    throw Error(Diagnostic::error("@" + entry.str() + " has " + std::to_string(count) +
                                      " parameters named %" + name,
                                  params[found]->span())
                    .help("give them names of their own, or values by position"));
  }
  std::vector<std::string> names;
  for (const VarRef& param : params) names.push_back(param->name().str());
  Diagnostic diagnostic = Diagnostic::error("@" + entry.str() + " has no parameter %" + name);
  suggest(diagnostic, name, names, "%");
  throw Error(std::move(diagnostic));
}

Module close_program(Module module, Name entry, std::span<const Value> values,
                     const std::vector<bool>& constants) {
  const Function* function = module.function(entry);
  RELAY_CHECK(function != nullptr && function->params().size() == values.size(),
              "a value or none for each parameter");
  TypeRef signature = function_signature(module, entry);
  std::vector<TypeRef> types =
      parameter_types(*function, entry, signature ? signature->as<FuncType>() : nullptr, values);
  Module special = expand_gradients(specialize(module, entry, types));
  module = Module();
  std::unordered_map<size_t, NDArray> weights;
  for (size_t i = 0; i < values.size(); ++i) {
    if (constants[i]) weights.emplace(i, values[i].array());
  }
  if (weights.empty()) return special;
  special = bind_params(special, entry, weights);
  infer_types_or_throw(special);
  return special;
}

}  // namespace relay
