#include <relay/transform/gradient/lifted_types.h>

#include <relay/ir/type_fields.h>
#include <relay/support/error.h>
#include <relay/transform/gradient/leaves.h>

namespace relay::grad {

VarRef Code::bind(ExprRef value, const char* name) {
  VarRef var = make_var(name, {}, value->span());
  bind(var, std::move(value));
  return var;
}
void Code::bind(VarRef var, ExprRef value) {
  bindings_.emplace_back(std::move(var), std::move(value));
}
ExprRef Code::finish(ExprRef result) const {
  for (size_t i = bindings_.size(); i-- > 0;)
    result = make_let(bindings_[i].first, bindings_[i].second, std::move(result),
                      bindings_[i].second->span());
  return result;
}

// ---- Types ---------------------------------------------------------------------------------

LiftedTypes::LiftedTypes(Module& target) : target_(target), data_(target, "_grad") {
  find_changed();
}

TypeRef LiftedTypes::tape() { return RefType::make(FuncType::make({}, TupleType::make({}))); }

bool LiftedTypes::changes(const Type* type) const {
  if (is_leaf(type) || type->is<FuncType>()) return true;
  if (type->is<TensorType>()) return false;
  if (const auto* data = type->as<TypeCall>()) {
    if (changed_.count(data->callee().get()) != 0) return true;
  }
  bool found = false;
  for_each_part(*type, [&](const Type* part) { found = found || changes(part); });
  return found;
}

void LiftedTypes::find_changed() {
  for (bool more = true; more;) {
    more = false;
    for (const TypeDataRef& data : target_.types()) {
      if (changed_.count(data->name().get()) != 0) continue;
      bool found = false;
      for (const ConstructorRef& constructor : data->constructors()) {
        for (const TypeRef& field : constructor->inputs()) found = found || changes(field.get());
      }
      if (found) changed_.insert(data->name().get());
      more = more || found;
    }
  }
}

// True if values of a data type, and of all in it, are their own lifted form: nothing in them has a
// gradient, and nothing is refused. A field whose dtype is a parameter of the data type counts as
// having none, whatever the argument is.
bool LiftedTypes::has_no_cells(const Type* type, std::unordered_set<const TypeData*>& seen) const {
  if (is_leaf(type) || type->is<FuncType>() || type->is<RefType>()) return false;
  if (const auto* data = type->as<TypeCall>()) {
    const auto* name = data->callee()->as<GlobalTypeVar>();
    if (name == nullptr) return false;
    const TypeData* declared = target_.type_data(name);
    if (declared != nullptr && seen.insert(declared).second) {
      for (const ConstructorRef& constructor : declared->constructors()) {
        for (const TypeRef& field : constructor->inputs()) {
          if (!has_no_cells(field.get(), seen)) return false;
        }
      }
    }
  }
  bool found = true;
  for_each_part(*type, [&](const Type* part) { found = found && has_no_cells(part, seen); });
  return found;
}

TypeRef LiftedTypes::lift(const TypeRef& type) {
  if (!type) return type;
  if (is_leaf(type.get())) return TupleType::make({type, RefType::make(type)});
  if (type->is<TensorType>()) return type;
  if (const auto* function = type->as<FuncType>()) {
    std::vector<TypeRef> params;
    for (const TypeRef& param : function->params()) params.push_back(lift(param));
    params.push_back(tape());
    return FuncType::make(std::move(params), lift(function->result()),
                          {function->type_params().begin(), function->type_params().end()});
  }
  if (const auto* data = type->as<TypeCall>()) {
    std::vector<TypeRef> args;
    for (const TypeRef& arg : data->args()) args.push_back(lift(arg));
    const auto* name = data->callee()->as<GlobalTypeVar>();
    const bool changed = changed_.count(data->callee().get()) != 0;
    return TypeCall::make(changed ? TypeRef(lifted_data(name)) : data->callee(), std::move(args));
  }
  return map_parts(
      type, [&](const TypeRef& part) { return lift(part); }, [](Dim dim) { return dim; });
}

GlobalTypeVarRef LiftedTypes::lifted_data(const GlobalTypeVar* name) {
  return data_.type(TypeDataRef(target_.type_data(name)),
                    [&](const Constructor& old, size_t i) { return lift(old.inputs()[i]); });
}

ConstructorRef LiftedTypes::constructor(const ConstructorRef& constructor) {
  const GlobalTypeVar* name = constructor->type_name().get();
  if (changed_.count(name) == 0) return constructor;
  lifted_data(name);
  return data_.constructor(constructor.get());
}

// ---- Walks ---------------------------------------------------------------------------------

namespace {

bool gives_nothing(LiftedTypes::Walk walk) {
  return walk == LiftedTypes::Walk::kSeed || walk == LiftedTypes::Walk::kSeedFrom;
}
ExprRef nothing() { return make_tuple(std::vector<ExprRef>()); }

std::string refusal(LiftedTypes::Walk walk, const Type& type) {
  const char* what = type.is<FuncType>()  ? "a function"
                     : type.is<RefType>() ? "a reference"
                                          : "of the open type ";
  std::string text = what;
  if (!type.is<FuncType>() && !type.is<RefType>()) text += type.str();
  return walk == LiftedTypes::Walk::kLift
             ? "a parameter is or holds " + text +
                   ", which has no gradient; make it part of the function"
             : "the result is or holds " + text + ", which has no gradient";
}

}  // namespace

ExprRef LiftedTypes::walk(Walk walk, const TypeRef& type, const ExprRef& value,
                          const ExprRef& given, Code& code) {
  if (type->is<TensorType>()) return walk_tensor(walk, type, value, given, code);
  if (const auto* tuple = type->as<TupleType>())
    return walk_tuple(walk, *tuple, value, given, code);
  const auto* call = type->as<TypeCall>();
  if (call == nullptr) throw Error(refusal(walk, *type), value->span());
  const TypeData* data = target_.type_data(call->callee()->as<GlobalTypeVar>());
  if (data == nullptr || data->is_extern()) return gives_nothing(walk) ? ExprRef() : value;
  if (walk == Walk::kLift || walk == Walk::kPrimal || walk == Walk::kSeed) {
    std::unordered_set<const TypeData*> seen;
    if (type->closed() && has_no_cells(type.get(), seen))
      return gives_nothing(walk) ? ExprRef() : value;
  }
  std::vector<ExprRef> args{value};
  if (walk == Walk::kSeedFrom) args.push_back(given);
  VarRef result = code.bind(make_call(make_global_var(walk_function(walk, type)), args));
  return gives_nothing(walk) ? ExprRef() : ExprRef(result);
}

ExprRef LiftedTypes::walk_tensor(Walk walk, const TypeRef& type, const ExprRef& value,
                                 const ExprRef& given, Code& code) {
  if (!is_leaf(type.get())) {
    if (gives_nothing(walk)) return {};
    return walk == Walk::kGradient ? zeros_of(type.get(), value) : value;
  }
  switch (walk) {
    case Walk::kLift: {
      VarRef cell = code.bind(make_ref_create(zeros_of(type.get(), value)), "cell");
      return make_tuple(std::vector<ExprRef>{value, cell});
    }
    case Walk::kPrimal:
      return field_of(value, 0);
    case Walk::kGradient:
      return code.bind(make_ref_read(field_of(value, 1)));
    default: {
      const ExprRef cell = field_of(value, 1);
      VarRef old = code.bind(make_ref_read(cell));
      const ExprRef more = given ? given : ones_of(type.get(), field_of(value, 0));
      code.bind(make_ref_write(cell, sum(old, more)));
      return {};
    }
  }
}

ExprRef LiftedTypes::walk_tuple(Walk walk, const TupleType& type, const ExprRef& value,
                                const ExprRef& given, Code& code) {
  std::vector<ExprRef> fields;
  for (size_t i = 0; i < type.fields().size(); ++i) {
    fields.push_back(this->walk(walk, type.fields()[i], field_of(value, i),
                                given ? field_of(given, i) : ExprRef(), code));
  }
  return gives_nothing(walk) ? ExprRef() : make_tuple(fields);
}

Name LiftedTypes::walk_function(Walk walk, const TypeRef& type) {
  auto found = walks_.find({walk, type.get()});
  if (found != walks_.end()) return found->second;
  static const char* const kNames[] = {"lift_", "value_", "gradient_", "seed_", "seed_from_"};
  const auto* call = type->as<TypeCall>();
  const Name name = target_.fresh_name(kNames[static_cast<size_t>(walk)] +
                                       call->callee()->as<GlobalTypeVar>()->name().str());
  kept_.push_back(type);
  walks_[{walk, type.get()}] = name;
  target_.add_function(name, make_function({}, nothing()));  // takes the name until it is written
  target_.update_function(name, make_walk(walk, type));
  return name;
}

// The clause of a constructor; its fields are variables.
ExprRef LiftedTypes::walk_constructor(Walk walk, const TypeCall& type,
                                      const ConstructorRef& constructor, PatternRef& pattern) {
  const TypeData& data = *target_.type_data(type.callee()->as<GlobalTypeVar>());
  std::vector<PatternRef> fields, others;
  std::vector<ExprRef> results;
  Code code;
  for (const TypeRef& open : constructor->inputs()) {
    const TypeRef field = substitute(open, [&](const TypeVar* var) -> TypeRef {
      for (size_t i = 0; i < data.type_vars().size(); ++i) {
        if (data.type_vars()[i].get() == var) return type.args()[i];
      }
      return {};
    });
    VarRef var = make_var("x"), other = make_var("g");
    fields.push_back(Pattern::var(var));
    others.push_back(Pattern::var(other));
    results.push_back(
        this->walk(walk, field, var, walk == Walk::kSeedFrom ? ExprRef(other) : ExprRef(), code));
  }
  const ConstructorRef lifted = this->constructor(constructor);
  pattern = Pattern::constructor(walk == Walk::kLift ? constructor : lifted, std::move(fields));
  if (walk == Walk::kSeedFrom)
    pattern = Pattern::tuple({pattern, Pattern::constructor(constructor, std::move(others))});
  if (gives_nothing(walk)) return code.finish(nothing());
  const ConstructorRef& made = walk == Walk::kLift ? lifted : constructor;
  return code.finish(make_call(ExprRef(made), results));
}

FunctionRef LiftedTypes::make_walk(Walk walk, const TypeRef& type) {
  const TypeRef lifted = lift(type);
  const auto& call = *type->as<TypeCall>();
  std::vector<VarRef> params{make_var("value", walk == Walk::kLift ? type : lifted)};
  ExprRef data = params[0];
  if (walk == Walk::kSeedFrom) {
    params.push_back(make_var("given", type));
    data = make_tuple(std::vector<ExprRef>{params[0], params[1]});
  }
  std::vector<PatternRef> patterns;
  std::vector<ExprRef> bodies;
  const TypeDataRef definition(target_.type_data(call.callee()->as<GlobalTypeVar>()));
  for (const ConstructorRef& constructor : definition->constructors()) {
    PatternRef pattern;
    bodies.push_back(walk_constructor(walk, call, constructor, pattern));
    patterns.push_back(std::move(pattern));
  }
  // A gradient of another structure than its value fits no clause.
  ExprRef body = make_match(data, std::move(patterns), bodies, walk != Walk::kSeedFrom);
  const TypeRef result = gives_nothing(walk)   ? TupleType::make({})
                         : walk == Walk::kLift ? lifted
                                               : type;
  return make_function(std::move(params), std::move(body), result);
}

}  // namespace relay::grad
