#include <relay/ir/module.h>

#include <relay/ir/constructor_tags.h>
#include <algorithm>
#include <unordered_set>

#include <relay/ir/type_table.h>
#include <relay/support/error.h>

namespace relay {

TypeDataRef TypeData::make(GlobalTypeVarRef name, std::vector<TypeVarRef> type_vars,
                           std::vector<ConstructorRef> constructors, bool is_extern, Span span) {
  const std::string type_name = name->name().str();
  std::unordered_set<const TypeVar*> declared;
  std::unordered_set<Name> names;
  for (const TypeVarRef& var : type_vars) {
    declared.insert(var.get());
    if (!names.insert(var->name()).second) {
      throw Error("data type " + type_name + " has two parameters named " + var->name().str(),
                  span);
    }
  }
  names.clear();
  auto* data = TypeTable::create<TypeData>({name});
  TypeDataRef result = TypeDataRef::adopt(data);
  for (const ConstructorRef& constructor : constructors) {
    if (!names.insert(constructor->name()).second) {
      throw Error(
          "data type " + type_name + " has two constructors named " + constructor->name().str(),
          constructor->span());
    }
    if (constructor->type_name() != name) {
      throw Error("constructor " + constructor->name().str() + " is of data type " +
                      constructor->type_name()->name().str() + ", not " + type_name,
                  constructor->span());
    }
    for (const TypeRef& input : constructor->inputs()) {
      for (const TypeVarRef& var : free_type_vars(input)) {
        if (declared.count(var.get()) != 0) continue;
        throw Error("constructor " + constructor->name().str() + " uses " + var->name().str() +
                        ", which is no parameter of data type " + type_name,
                    constructor->span());
      }
      TypeTable::add_child(data, input.get());
    }
  }
  TypeTable::check_limits(data);
  if (is_extern && !constructors.empty()) {
    throw Error("extern type " + type_name + " cannot have constructors", span);
  }
  // Values carry the place of their constructor: executors index by it.
  for (size_t i = 0; i < constructors.size(); ++i) {
    uint32_t tag = constructors[i]->ctor_tag();
    if (tag != kUnnumbered && tag != i) {
      throw Error("constructor " + constructors[i]->name().str() + " has tag " +
                      std::to_string(tag) + ", but its place in data type " + type_name + " is " +
                      std::to_string(i),
                  constructors[i]->span());
    }
  }
  for (size_t i = 0; i < constructors.size(); ++i) {
    if (constructors[i]->ctor_tag() == kUnnumbered)
      number_constructor(*constructors[i], static_cast<uint32_t>(i));
  }
  data->hash_ = hash_combine(0xda7a, name->name().hash());
  data->type_vars_ = std::move(type_vars);
  data->constructors_ = std::move(constructors);
  data->is_extern_ = is_extern;
  data->span_ = span;
  return result;
}

TypeRef constructor_type(const TypeData& data, const Constructor& constructor) {
  std::vector<TypeRef> args(data.type_vars().begin(), data.type_vars().end());
  return FuncType::make(constructor.inputs(), TypeCall::make(data.name(), std::move(args)),
                        {data.type_vars().begin(), data.type_vars().end()});
}

void Module::add_function(const Name& name, FunctionRef function, bool replace) {
  RELAY_CHECK(function, "a global function is null");
  if (name.empty()) throw Error("a function of a module has a name", function->span());
  auto [entry, fresh] = function_index_.emplace(name, functions_.size());
  if (fresh) {
    functions_.push_back({name, std::move(function)});
    return;
  }
  FunctionRef& there = functions_[entry->second].function;
  if (!replace) {
    throw Error(Diagnostic::error("@" + name.str() + " is defined twice", function->span())
                    .note("it is first defined here", there->span()));
  }
  there = std::move(function);
}

void Module::remove_function(const Name& name) {
  auto found = function_index_.find(name);
  if (found == function_index_.end()) return;
  size_t position = found->second;
  function_index_.erase(found);
  functions_.erase(functions_.begin() + static_cast<ptrdiff_t>(position));
  for (size_t i = position; i < functions_.size(); ++i) function_index_[functions_[i].name] = i;
}

const Function* Module::function(const Name& name) const {
  auto found = function_index_.find(name);
  return found == function_index_.end() ? nullptr : functions_[found->second].function.get();
}

void Module::add_type(TypeDataRef data, bool replace) {
  RELAY_CHECK(data, "a data type is null");
  Name name = data->name()->name();
  if (name.empty()) throw Error("a data type of a module has a name", data->span());
  auto known = type_index_.find(name);
  if (known != type_index_.end() && !replace) {
    throw Error(Diagnostic::error("data type " + name.str() + " is defined twice", data->span())
                    .note("it is first defined here", types_[known->second]->span()));
  }
  for (const ConstructorRef& constructor : data->constructors()) {
    if (constructor->name().empty())
      throw Error("a constructor of data type " + name.str() + " has no name", data->span());
    auto other = constructors_.find(constructor->name());
    if (other == constructors_.end()) continue;
    if (other->second->type_name() == data->name()) continue;  // replaced with its type
    throw Error(Diagnostic::error("constructor " + constructor->name().str() + " is defined twice",
                                  constructor->span())
                    .note("it is first defined here, for data type " +
                              other->second->type_name()->name().str(),
                          other->second->span()));
  }
  if (known != type_index_.end()) {
    for (const ConstructorRef& constructor : types_[known->second]->constructors()) {
      constructors_.erase(constructor->name());
    }
  }
  for (const ConstructorRef& constructor : data->constructors()) {
    constructors_[constructor->name()] = constructor;
  }
  if (known != type_index_.end()) {
    types_[known->second] = std::move(data);
  } else {
    type_index_.emplace(name, types_.size());
    types_.push_back(std::move(data));
  }
}

const TypeData* Module::type_data(const Name& name) const {
  auto found = type_index_.find(name);
  return found == type_index_.end() ? nullptr : types_[found->second].get();
}

const Constructor* Module::constructor(const Name& name) const {
  auto found = constructors_.find(name);
  return found == constructors_.end() ? nullptr : found->second.get();
}

void Module::add_source(std::shared_ptr<const Source> source) {
  if (source == nullptr) return;
  if (std::find(sources_.begin(), sources_.end(), source) == sources_.end()) {
    sources_.push_back(std::move(source));
  }
}

const Module::FunctionEntry* Module::entry() const {
  auto main = function_index_.find(Name("main"));
  if (main != function_index_.end()) return &functions_[main->second];
  return functions_.size() == 1 ? &functions_[0] : nullptr;
}

Name Module::fresh_name(std::string_view base) const {
  Name name(base);
  for (size_t i = 1; function_index_.count(name) != 0; ++i) {
    name = Name(std::string(base) + '_' + std::to_string(i));
  }
  return name;
}

}  // namespace relay
