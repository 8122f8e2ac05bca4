#include <relay/transform/program.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>
#include <relay/transform/bind_params.h>
#include <relay/transform/gradient/gradient.h>

namespace relay {

namespace {

// Finds from values what the type variables in their declared types stand for. Values of data do
// not know their type's arguments, so a list is looked into until an element tells them.
class TypesOfValues {
 public:
  explicit TypesOfValues(const Module& module) : module_(module) {}

  void look(const Value& value, const TypeRef& declared) {
    want(declared);
    push(value, declared);
    while (!work_.empty() && !wanted_.empty()) {
      auto [at, type] = work_.back();
      work_.pop_back();
      step(*at, type);
    }
    work_.clear();
  }

  /// The type with all that was found in the place of its variables.
  TypeRef filled(TypeRef type) const {
    // A binding names only variables that were made after its own.
    for (const auto& [var, found] : bound_) {
      if (!has_variables(type)) break;
      type = substitute(type, [&, var = var, &found = found](const TypeVar* at) {
        return at == var ? found : TypeRef();
      });
    }
    return type;
  }

 private:
  static bool has_variables(const TypeRef& type) {
    return type->has_type_var() || type->has_symbolic_dim();
  }

  static constexpr size_t kMaxUnknown = 1024;  // lists of lists nest without end

  void want(const TypeRef& type) {
    for (const TypeVarRef& var : free_type_vars(type)) {
      if (!known_.contains(var.get())) wanted_.insert(var.get());
    }
  }

  void push(const Value& value, const TypeRef& type) {
    if (!value || !has_variables(type)) return;
    const bool has_parts = (value.is_tuple() || value.is_data()) && !value.fields().empty();
    const void* object = has_parts ? value.fields().data() : nullptr;
    if (object == nullptr || seen_.try_emplace({object, type.get()}, type).second)
      work_.emplace_back(&value, type);
  }

  void bind(const TypeVar* var, TypeRef type) {
    if (wanted_.erase(var) == 0) return;
    known_.emplace(var, type);
    want(type);
    bound_.emplace_back(var, std::move(type));
  }

  TypeRef unknown() {
    if (unknowns_.size() >= kMaxUnknown) return nullptr;
    unknowns_.push_back(TypeVar::make("t" + std::to_string(unknowns_.size()), Kind::kType));
    return unknowns_.back();
  }

  // The type of a value as far as its kind tells it, with unknown parts; null if nothing does.
  TypeRef outline(const Value& value) {
    if (value.is_tensor()) return value_type(value);
    const TypeData* data =
        value.is_data() ? module_.type_data(value.constructor()->type_name) : nullptr;
    if (!value.is_tuple() && data == nullptr) return nullptr;
    std::vector<TypeRef> parts(data != nullptr ? data->type_vars().size() : value.fields().size());
    for (TypeRef& part : parts) {
      if (!(part = unknown())) return nullptr;
    }
    return data != nullptr ? TypeCall::make(data->name(), std::move(parts))
                           : TupleType::make(std::move(parts));
  }

  void step(const Value& value, const TypeRef& type) {
    if (const auto* var = type->as<TypeVar>()) {
      if (wanted_.contains(var)) {
        if (TypeRef found = outline(value)) bind(var, std::move(found));
      }
      if (auto found = known_.find(var); found != known_.end()) push(value, found->second);
    } else if (const auto* tensor = type->as<TensorType>();
               tensor != nullptr && value.is_tensor()) {
      look_at_tensor(*tensor, *value_type(value)->as<TensorType>());
    } else if (const auto* tuple = type->as<TupleType>(); tuple != nullptr && value.is_tuple()) {
      look_at_fields(value, tuple->fields());
    } else if (const auto* call = type->as<TypeCall>(); call != nullptr && value.is_data()) {
      look_at_data(value, *call);
    }
  }

  void look_at_tensor(const TensorType& declared, const TensorType& found) {
    if (const auto* var = declared.dtype_type()->as<TypeVar>()) bind(var, found.dtype_type());
    if (const auto* var = declared.shape()->as<TypeVar>()) bind(var, found.shape());
    if (!declared.has_rank()) return;
    for (size_t d = 0; d < declared.dims().size() && d < found.dims().size(); ++d) {
      if (const TypeVar* symbol = declared.dims()[d].as_symbol())
        bind(symbol, DimType::make(found.dims()[d]));
    }
  }

  void look_at_fields(const Value& value, std::span<const TypeRef> types) {
    const size_t count = std::min(types.size(), value.fields().size());
    for (size_t i = count; i-- > 0;) push(value.field(i), types[i]);
  }

  void look_at_data(const Value& value, const TypeCall& call) {
    const auto* name = call.callee()->as<GlobalTypeVar>();
    const TypeData* data = name == nullptr ? nullptr : module_.type_data(name);
    if (data == nullptr || value.constructor()->type_name != name->name() ||
        static_cast<size_t>(value.tag()) >= data->constructors().size() ||
        call.args().size() != data->type_vars().size())
      return;
    std::vector<TypeRef> types;
    for (const TypeRef& field : data->constructors()[static_cast<size_t>(value.tag())]->inputs()) {
      types.push_back(substitute(field, [&](const TypeVar* var) {
        for (size_t i = 0; i < data->type_vars().size(); ++i) {
          if (data->type_vars()[i].get() == var) return call.args()[i];
        }
        return TypeRef();
      }));
    }
    look_at_fields(value, types);
  }

  const Module& module_;
  std::vector<std::pair<const Value*, TypeRef>> work_;
  std::map<std::pair<const void*, const Type*>, TypeRef> seen_;
  std::vector<TypeRef> unknowns_;
  std::unordered_set<const TypeVar*> wanted_;
  std::unordered_map<const TypeVar*, TypeRef> known_;
  std::vector<std::pair<const TypeVar*, TypeRef>> bound_;
};

bool is_open(const TypeRef& type) {
  return !type || type->has_incomplete() || type->has_type_var();
}

// The declared type of a parameter without a value, or of one without a type.
TypeRef declared_type(const Function& function, Name entry, size_t i, const FuncType* signature,
                      const TypesOfValues& found, bool has_value) {
  TypeRef type = signature == nullptr ? TypeRef() : found.filled(signature->params()[i]);
  if (!is_open(type)) return type;
  const Var& param = *function.params()[i];
  if (type) type = signature->params()[i];
  std::string text = type ? ": it may be any " + type->str() : "";
  const char* why = has_value ? " does not follow from its value" : " is not known";
  throw Error(
      Diagnostic::error("the type of %" + param.name().str() + " of @" + entry.str() + why + text,
                        param.span())
          .help("annotate the parameter"));
}

// The types of values if there are some, else the declared ones: values decide the type variables
// that they tell.
std::vector<TypeRef> parameter_types(const Module& module, const Function& function, Name entry,
                                     const FuncType* signature, std::span<const Value> values) {
  std::vector<TypeRef> types(values.size());
  TypesOfValues found(module);
  for (size_t i = 0; i < types.size(); ++i) {
    if (!values[i]) continue;
    types[i] = value_type(values[i]);
    if (signature != nullptr) found.look(values[i], signature->params()[i]);
  }
  for (size_t i = 0; i < types.size(); ++i) {
    // The type of an empty list, say, does not follow from it.
    if (!types[i] || types[i]->has_incomplete())
      types[i] = declared_type(function, entry, i, signature, found, static_cast<bool>(values[i]));
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
  Diagnostic diagnostic =
      Diagnostic::error("@" + entry.str() + " has no parameter %" + name, function.span());
  suggest(diagnostic, name, names, "%");
  throw Error(std::move(diagnostic));
}

Module close_program(Module module, Name entry, std::span<const Value> values,
                     const std::vector<bool>& constants) {
  const Function* function = module.function(entry);
  RELAY_CHECK(function != nullptr && function->params().size() == values.size(),
              "a value or none for each parameter");
  TypeRef signature = function_signature(module, entry);
  std::vector<TypeRef> types = parameter_types(
      module, *function, entry, signature ? signature->as<FuncType>() : nullptr, values);
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
