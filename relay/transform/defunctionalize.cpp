// Defunctionalization: functions that are values become data, and one function applies them.
#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/type_fields.h>
#include <relay/ir/visit.h>
#include <relay/program/lets.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/entry.h>
#include <relay/transform/first_order.h>
#include <relay/transform/fusion.h>
#include <relay/transform/gradient/gradient.h>
#include <relay/transform/monomorphic.h>
#include <relay/transform/name_literals.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// The functions of one type: a data type with a constructor for each, and what applies a value of
// it to arguments.
struct Family {
  GlobalTypeVarRef data;
  Name apply;
  std::vector<TypeRef> params;  // without functions
  TypeRef result;
  std::vector<VarRef> arguments;  // of the applying function
  VarRef function;
  std::vector<ConstructorRef> constructors;
  std::vector<PatternRef> patterns;
  std::vector<ExprRef> bodies;
};

class Defunctionalizer {
 public:
  explicit Defunctionalizer(Module module) : module_(std::move(module)) {}

  Module run() {
    for (const TypeDataRef& data : module_.types()) {
      for (const ConstructorRef& constructor : data->constructors()) {
        for (const TypeRef& field : constructor->inputs()) refuse_functions(field.get(), *data);
      }
    }
    const Module given = module_;
    for (const auto& entry : given.functions()) {
      if (is_primitive(entry.function.get())) continue;
      module_.update_function(entry.name, convert(entry.function));
    }
    add_families();
    return std::move(module_);
  }

  /// The type with data in the place of functions.
  TypeRef plain(const TypeRef& type) {
    if (!type) return type;
    if (type->is<FuncType>()) return TypeCall::make(family(*type).data, {});
    return map_parts(
        type, [&](const TypeRef& part) { return plain(part); }, [](Dim dim) { return dim; });
  }

  Family& family(const Type& type) {
    auto [entry, fresh] = families_.try_emplace(&type, families_.size());
    if (!fresh) return *list_[entry->second];
    const auto& function = static_cast<const FuncType&>(type);
    if (function.is_scheme() || !type.closed())
      throw Error(
          "a function value has the open type " + type.str() + ", and data have closed ones",
          place_);
    const size_t number = list_.size();
    list_.push_back(std::make_unique<Family>());
    Family& made = *list_.back();
    const std::string suffix = number == 0 ? "" : std::to_string(number);
    made.data = GlobalTypeVar::make(free_type_name("Function" + suffix));
    made.apply = module_.fresh_name("apply" + suffix);
    module_.add_function(made.apply, make_function({}, make_tuple(std::vector<ExprRef>())));
    made.function = make_var("f", TypeCall::make(made.data, {}));
    for (const TypeRef& param : function.params()) {
      TypeRef type_of_param = plain(param);
      list_[number]->params.push_back(type_of_param);
      list_[number]->arguments.push_back(
          make_var("a" + std::to_string(list_[number]->arguments.size()), type_of_param));
    }
    list_[number]->result = plain(function.result());
    return *list_[number];
  }

  /// A constructor of the family with these fields.
  ConstructorRef add_constructor(Family& family, std::vector<TypeRef> fields) {
    ConstructorRef made =
        make_constructor(free_constructor_name(), family.data,
                         static_cast<uint32_t>(family.constructors.size()), std::move(fields));
    family.constructors.push_back(made);
    return made;
  }

  /// The expression that stands for a name of a function, operator or constructor that is a value.
  ExprRef name_value(const ExprRef& name, const Type* type) {
    if (type == nullptr || !type->is<FuncType>())
      throw Error("the type of a function value is not known", name->span());
    auto [entry, fresh] = names_.try_emplace({name_key(*name), type});
    if (fresh) {
      Family& family = this->family(*type);
      ConstructorRef constructor = add_constructor(family, {});
      entry->second = constructor;
      std::vector<ExprRef> args(family.arguments.begin(), family.arguments.end());
      family.patterns.push_back(Pattern::constructor(constructor, {}));
      family.bodies.push_back(make_call(name, args));
    }
    return make_call(ExprRef(entry->second), std::vector<ExprRef>());
  }

  const Module& module() const { return module_; }
  /// Where errors are from now on.
  void at(Span place) {
    if (place.known()) place_ = place;
  }

 private:
  static std::string name_key(const Expr& name) {
    if (const auto* global = name.as<GlobalVar>()) return "@" + global->name().str();
    return std::to_string(reinterpret_cast<uintptr_t>(&name));
  }

  void refuse_functions(const Type* type, const TypeData& data) const {
    if (type->is<FuncType>()) {
      throw Error(Diagnostic::error("the data type " + data.name()->name().str() +
                                        " has a field with functions, " + type->str(),
                                    data.span())
                      .help("make the field's type a parameter of the data type"));
    }
    for_each_part(*type, [&](const Type* part) { refuse_functions(part, data); });
  }

  Name free_type_name(const std::string& base) const {
    std::string name = base;
    for (int i = 1; module_.type_data(Name(name)) != nullptr; ++i)
      name = base + "_" + std::to_string(i);
    return Name(name);
  }
  Name free_constructor_name() {
    for (;;) {
      Name name("Lambda" + std::to_string(next_lambda_++));
      if (module_.constructor(name) == nullptr) return name;
    }
  }

  FunctionRef convert(const FunctionRef& function);

  void add_families() {
    auto without_functions = [&](const TypeRef& type) { return plain(type); };
    for (size_t i = 0; i < list_.size(); ++i) {  // bodies may mention further types
      Family& family = *list_[i];
      std::vector<VarRef> params{family.function};
      params.insert(params.end(), family.arguments.begin(), family.arguments.end());
      // Without functions of a type there is no value, and nothing to apply.
      ExprRef body =
          make_match(family.function, family.patterns, family.bodies, !family.patterns.empty());
      ExprRef apply = make_function(std::move(params), std::move(body), family.result);
      apply = copy_with_fresh_vars(copy_nodes(apply), without_functions);
      module_.update_function(family.apply, FunctionRef(apply->as<Function>()));
    }
    for (const std::unique_ptr<Family>& family : list_)
      module_.add_type(
          TypeData::make(family->data, {}, family->constructors, family->constructors.empty()));
  }

  Module module_;
  std::unordered_map<const Type*, size_t> families_;
  std::vector<std::unique_ptr<Family>> list_;
  std::map<std::pair<std::string, const Type*>, ConstructorRef> names_;
  int next_lambda_ = 0;
  Span place_;
};

// One global function. Operands come first, so literals inside are data when those around are met.
class FunctionConverter final : public Rewriter {
 public:
  FunctionConverter(Defunctionalizer& whole, const FunctionRef& root)
      : whole_(whole), root_(root.get()), view_(root) {}

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* call = expr->as<Call>();
    whole_.at(expr->span());
    std::vector<ExprRef> values(operands.begin(), operands.end());
    // Names that are values, but for what is called.
    for (size_t i = call == nullptr ? 0 : 1; i < values.size(); ++i) {
      const Expr* before = expr->operands()[i].get();
      if (const Function* kernel = kernel_of(before)) {
        // Where a let binds it, it keeps its name.
        if (expr->is<Let>() && i == 0 && before == kernel) continue;
        values[i] = whole_.name_value(ExprRef(kernel), kernel->type());
        continue;
      }
      const bool name = before->is<GlobalVar>() || before->is<Op>() || before->is<Constructor>();
      if (!name ||
          (before->is<Constructor>() && static_cast<const Constructor*>(before)->inputs().empty()))
        continue;
      values[i] = whole_.name_value(values[i], value_type_of(*before, *expr, i));
    }
    if (call != nullptr) return convert_call(*call, values);
    if (expr != root_ && expr->is<Function>())
      return convert_literal(static_cast<const Function&>(*expr), values[0]);
    return rebuild(expr, values);
  }

  // The type of a name where it is used. One node stands for all uses of an operator or
  // constructor.
  const Type* value_type_of(const Expr& name, const Expr& user, size_t operand) const {
    if (const auto* global = name.as<GlobalVar>()) {
      const Function* function = whole_.module().function(global->name());
      if (global->type() != nullptr) return global->type();
      return function == nullptr ? nullptr : function->type();
    }
    if (const auto* let = user.as<Let>(); let != nullptr && operand == 0) return let->var()->type();
    throw Error("an operator or constructor that is a value wants a function literal around it",
                user.span());
  }

  // A function for one kernel: a value of first order already, but for its type.
  const Function* kernel_of(const Expr* expr) const {
    if (const auto* function = expr->as<Function>())
      return function != root_ && is_primitive(function) ? function : nullptr;
    const Function* bound = bound_literal(view_, expr);
    return bound != nullptr && is_primitive(bound) ? bound : nullptr;
  }

  ExprRef convert_call(const Call& call, std::span<const ExprRef> operands) {
    const Expr* callee = call.callee().get();
    const bool direct = callee->is<Op>() || callee->is<Constructor>() || callee->is<GlobalVar>() ||
                        kernel_of(callee) != nullptr;
    if (direct) return rebuild(&call, operands);
    if (callee->type() == nullptr || !callee->type()->is<FuncType>())
      throw Error("the type of what is called is not known", call.span());
    return make_call(make_global_var(whole_.family(*callee->type()).apply), operands, {}, {},
                     call.span());
  }

  ExprRef convert_literal(const Function& function, const ExprRef& body) {
    if (function.type() == nullptr || !function.type()->is<FuncType>())
      throw Error("the type of a function literal is not known", function.span());
    Family& family = whole_.family(*function.type());
    const Var* self = name_of_literal(view_, &function);
    // The body with the applying function's arguments, and a field for each captured variable.
    std::unordered_map<const Var*, ExprRef> replacement;
    for (size_t i = 0; i < function.params().size(); ++i)
      replacement[function.params()[i].get()] = family.arguments[i];
    std::vector<TypeRef> types;
    std::vector<PatternRef> fields;
    std::vector<ExprRef> inside;
    std::vector<ExprRef> outside;
    ExprRef whole = with_body(FunctionRef(&function), body);
    for (const VarRef& var : free_vars(whole.get())) {
      if (var.get() == self) continue;
      if (var->type() == nullptr)
        throw Error("the type of %" + var->name().str() + " is not known", var->span());
      types.push_back(whole_.plain(TypeRef(var->type())));
      VarRef field = make_var(var->name());
      replacement[var.get()] = field;
      fields.push_back(Pattern::var(field));
      inside.push_back(field);
      outside.push_back(var);
    }
    ConstructorRef constructor = whole_.add_constructor(family, std::move(types));
    if (self != nullptr) replacement[self] = make_call(ExprRef(constructor), inside);
    family.patterns.push_back(Pattern::constructor(constructor, std::move(fields)));
    family.bodies.push_back(substitute(body, replacement));
    return make_call(ExprRef(constructor), outside, {}, {}, function.span());
  }

  Defunctionalizer& whole_;
  const Function* root_;
  const View view_;
};

FunctionRef Defunctionalizer::convert(const FunctionRef& function) {
  ExprRef converted = FunctionConverter(*this, function).run(function);
  auto annotation = [&](const TypeRef& type) { return plain(type); };
  bool functions = !(converted == function);
  for (const VarRef& param : function->params())
    functions = functions || !(plain(TypeRef(param->type())) == TypeRef(param->type()));
  if (!functions) return function;
  return FunctionRef(copy_with_fresh_vars(copy_nodes(converted), annotation)->as<Function>());
}

// Data have closed types: a named extent of the entry becomes one that a run decides.
Module without_names(const Module& module, const Name& entry) {
  const FunctionRef function(module.function(entry));
  auto is_name = [](const TypeVarRef& var) { return var->kind() == Kind::kShapeVar; };
  if (std::none_of(function->type_params().begin(), function->type_params().end(), is_name))
    return module;
  auto open = [&](const TypeRef& type) {
    return substitute(type, [&](const TypeVar* var) -> TypeRef {
      for (const TypeVarRef& own : function->type_params()) {
        if (own.get() == var && is_name(own)) return DimType::make(Dim::any());
      }
      return {};
    });
  };
  Module result = module;
  ExprRef copy = copy_nodes(copy_with_fresh_vars(function, open));
  result.update_function(entry, FunctionRef(copy->as<Function>()));
  infer_types_or_throw(result);
  return result;
}

// Operators and constructors that are values have no place for a type, as function literals have.
Module with_name_literals(Module module) {
  const Module before = module;
  for (const auto& entry : before.functions()) {
    FunctionRef wrapped = relay::with_name_literals(entry.function);
    if (!(wrapped == entry.function)) module.update_function(entry.name, std::move(wrapped));
  }
  infer_types_or_throw(module);
  return module;
}

Module defunctionalize(const Module& given, const PassContext& context) {
  const Name name = entry_of(given).name;
  if (is_first_order(given)) return given;
  const Module module = with_name_literals(without_names(given, name));
  const Module::FunctionEntry* entry = module.entry();
  std::vector<TypeRef> types;
  for (const VarRef& param : entry->function->params()) {
    if (param->type() == nullptr || !param->type()->closed())
      throw Error("the type of %" + param->name().str() + " of @" + entry->name.str() +
                      " is open; give it one",
                  param->span());
    if (holds_functions(*param->type()))
      throw Error("%" + param->name().str() + " of @" + entry->name.str() +
                      " is a function, which the caller cannot give as data",
                  param->span());
    types.emplace_back(param->type());
  }
  // Every function has one closed type, and no literal shares a node with what is around it.
  Module special = expand_gradients(specialize(module, entry->name, types));
  special = monomorphic(without_polymorphic_lets(std::move(special)), entry->name);
  special = (*create_pass(Effects(special).any() ? "ToANormalForm" : "ToBasicBlockNormalForm"))(
      special, context);
  infer_types_or_throw(special);
  Module result = Defunctionalizer(std::move(special)).run();
  return (*create_pass("InferType"))(result, context);
}

RELAY_REGISTER_PASS({
    {"Defunctionalization",
     1,
     {ProgramState::kTyped},
     "Makes a program of first order: a function that is a value becomes a data value that holds "
     "what it captures, and calls of it a call of one function for each type, which matches on it. "
     "Each global function that the entry reaches becomes one for each type that it is called at. "
     "Extents with names become those that a run decides. Types of functions inside of declared "
     "data types are refused. A program without function values and type parameters stays as it "
     "is."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_module_pass(info, defunctionalize);
    },
});

}  // namespace
}  // namespace relay
