#include <relay/transform/monomorphic.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/infer/specialize/instance_types.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/type_fields.h>
#include <relay/ir/visit.h>
#include <relay/program/call_graph.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/fusion.h>

namespace relay {
namespace {

constexpr size_t kMaxInstances = 10'000;

class Instances {
 public:
  Instances(Module module, const Name& entry) : module_(std::move(module)), work_{entry} {}

  Module run() {
    // Instances that a generation of functions needs are typed before they are looked at.
    while (!work_.empty()) {
      std::vector<Name> generation = std::exchange(work_, {});
      infer_types_or_throw(module_);
      for (const Name& name : generation) {
        const FunctionRef function(module_.function(name));
        current_ = name;
        ExprRef rewritten = Writer(*this).run(function);
        if (!(rewritten == function))
          module_.update_function(name, FunctionRef(copy_nodes(rewritten)->as<Function>()));
      }
    }
    infer_types_or_throw(module_);
    return std::move(module_);
  }

 private:
  // An instance: of which function, wanted by which one, and how large its type is as text.
  struct Wanted {
    Name function, by;
    size_t size;
  };

  // True for the last of a chain of instances of one function whose types become larger and larger:
  // with types that double they would soon be too large to be looked at.
  bool grows(const Wanted& last) const {
    constexpr int kLongest = 12;
    int larger = 0;
    size_t size = last.size;
    for (auto at = wanted_.find(last.by); at != wanted_.end(); at = wanted_.find(at->second.by)) {
      if (!(at->second.function == last.function) || at->second.size >= size) continue;
      size = at->second.size;
      if (++larger >= kLongest) return true;
    }
    return false;
  }

  // The name of the function at this type; it is made if nobody wanted it before.
  Name instance(const GlobalVar& global, const TypeRef& type) {
    const Function* function = module_.function(global.name());
    const TypeRef signature =
        function == nullptr ? TypeRef() : function_signature(module_, global.name());
    const auto* scheme = signature ? signature->as<FuncType>() : nullptr;
    if (scheme == nullptr || !scheme->is_scheme()) {
      if (function != nullptr && seen_.insert(global.name()).second) work_.push_back(global.name());
      return global.name();
    }
    inference::TypeVarSet which;
    for (const TypeVarRef& param : scheme->type_params()) which.insert(param.get());
    inference::Substitution types = inference::match_scheme(scheme, type, which);
    if (types.size() != scheme->type_params().size())
      throw Error("@" + global.name().str() + " is used at the open type " + type->str(),
                  global.span());
    std::vector<const Type*> key;
    for (const auto& [param, value] : types) {
      if (!value || !value->closed())
        throw Error("@" + global.name().str() + " is used at the open type " + type->str(),
                    global.span());
      key.push_back(value.get());
    }
    auto [entry, fresh] = names_.try_emplace({global.name(), std::move(key)});
    if (!fresh) return entry->second;
    entry->second = module_.fresh_name(global.name().str());
    const Wanted wanted{global.name(), current_, type->str().size()};
    if (names_.size() > kMaxInstances || grows(wanted))
      throw Error("@" + global.name().str() + " needs itself at ever new types", global.span());
    wanted_[entry->second] = wanted;
    kept_.push_back(types);
    module_.add_function(entry->second,
                         inference::instantiate_function(function, scheme, types, true));
    work_.push_back(entry->second);
    return entry->second;
  }

  class Writer final : public Rewriter {
   public:
    explicit Writer(Instances& instances) : instances_(instances) {}

   private:
    ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
      std::vector<ExprRef> own(operands.begin(), operands.end());
      const auto* call = expr->as<Call>();
      bool changed = false;
      for (size_t i = 0; i < own.size(); ++i) {
        const auto* global = expr->operands()[i]->as<GlobalVar>();
        if (global == nullptr) continue;
        TypeRef type = i == 0 && call != nullptr ? type_of_call(*call) : TypeRef(global->type());
        if (!type)
          throw Error("the type of @" + global->name().str() + " is not known", expr->span());
        const Name name = instances_.instance(*global, type);
        if (name == global->name()) continue;
        own[i] = make_global_var(name, global->span());
        changed = true;
      }
      if (call != nullptr && changed)
        return make_call(own[0], std::span(own).subspan(1), call->attrs(), {}, call->span());
      return rebuild(expr, own);
    }
    static TypeRef type_of_call(const Call& call) {
      std::vector<TypeRef> params;
      for (const ExprRef& arg : call.args()) {
        if (arg->type() == nullptr) return {};
        params.emplace_back(arg->type());
      }
      return call.type() == nullptr ? TypeRef()
                                    : FuncType::make(std::move(params), TypeRef(call.type()));
    }
    Instances& instances_;
  };

  Module module_;
  std::vector<Name> work_;
  std::unordered_set<Name> seen_;
  Name current_;
  std::unordered_map<Name, Wanted> wanted_;
  std::map<std::pair<Name, std::vector<const Type*>>, Name> names_;
  std::vector<inference::Substitution> kept_;  // the types whose addresses are keys
};

}  // namespace

Module monomorphic(Module module, const Name& entry) {
  return reached_part(Instances(std::move(module), entry).run(), {entry});
}

namespace {

constexpr size_t kMostNodes = 1'000'000;  // of copies of polymorphic functions
Error too_many(Span span) {
  return Error("polymorphic functions inside of others are used too often; make them global", span);
}

// Says nothing of some type parameters in annotations.
class Opening {
 public:
  explicit Opening(std::span<const TypeVarRef> params) {
    for (const TypeVarRef& param : params) params_.insert(param.get());
  }

  /// The type with `_` in their place. A list of dimensions is open as a whole, and so is a data
  /// type with a dimension among its arguments, as a dimension alone cannot be.
  TypeRef operator()(const TypeRef& type) const {
    if (!type || !mentions(type)) return type;
    if (type->is<TypeVar>() || type->is<ShapeType>() || takes_dimension(*type))
      return IncompleteType::make(0, type->kind());
    return map_parts(
        type, [&](const TypeRef& part) { return (*this)(part); }, [](Dim dim) { return dim; });
  }

 private:
  bool mentions(const TypeRef& type) const {
    return std::ranges::any_of(free_type_vars(type),
                               [&](const TypeVarRef& var) { return params_.contains(var.get()); });
  }
  bool takes_dimension(const Type& type) const {
    const auto* call = type.as<TypeCall>();
    return call != nullptr && std::ranges::any_of(call->args(), [&](const TypeRef& argument) {
             return argument->is<DimType>() && mentions(argument);
           });
  }
  PointerSet<TypeVar> params_;
};

// A function literal without its own type parameters. Inference gives it the one type of its place.
ExprRef without_type_params(const Function& literal) {
  const ExprRef copy = copy_with_fresh_vars(ExprRef(&literal), Opening(literal.type_params()));
  const auto* own = copy->as<Function>();
  return make_function({own->params().begin(), own->params().end()}, own->body(),
                       TypeRef(own->ret_type()), {}, {}, own->attrs(), own->span());
}

// Puts polymorphic functions that lets bind in the place of their uses, where each has one type,
// and gives literals that a function gets one.
class PolymorphicLets final : public Rewriter {
 private:
  static bool is_polymorphic(const Let& let) {
    const auto* type = let.var()->type() == nullptr ? nullptr : let.var()->type()->as<FuncType>();
    if (type == nullptr || !type->is_scheme() || !let.value()->is<Function>()) return false;
    for (const VarRef& var : free_vars(let.value().get())) {
      if (var.get() == let.var().get()) return false;  // it calls itself
    }
    return true;
  }
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let == nullptr || operand != 1 || !is_polymorphic(*let)) return;
    functions_[let->var().get()] = {done[0], count_nodes(done[0].get())};
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    std::vector<ExprRef> own(operands.begin(), operands.end());
    for (size_t i = 0; i < own.size(); ++i) {
      const auto* var = expr->operands()[i]->as<Var>();
      const Found* found = var == nullptr ? nullptr : functions_.find(var);
      if (found == nullptr) continue;
      made_ += found->nodes;
      if (made_ > kMostNodes) throw too_many(expr->span());
      own[i] = copy_with_fresh_vars(copy_nodes(found->function));
    }
    for (size_t i = 1; i < own.size() && expr->is<Call>(); ++i) {
      const auto* literal = own[i]->as<Function>();
      if (literal != nullptr && !literal->type_params().empty() && !is_primitive(literal))
        own[i] = without_type_params(*literal);
    }
    const auto* let = expr->as<Let>();
    return let != nullptr && functions_.contains(let->var().get()) ? own[1] : rebuild(expr, own);
  }

  struct Found {
    ExprRef function;
    size_t nodes;
  };
  PointerMap<Var, Found> functions_;
  size_t made_ = 0;
};

// Gives polymorphic functions that are called where they are written the type of that call.
class PolymorphicCalls final : public Rewriter {
 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    std::vector<ExprRef> own(operands.begin(), operands.end());
    if (const auto* call = expr->as<Call>()) {
      const auto* function = own[0]->as<Function>();
      const Type* type = call->callee()->type();
      if (function != nullptr && type != nullptr && type->is<FuncType>())
        own[0] = at_call(*call, function, *type->as<FuncType>());
    }
    return rebuild(expr, own);
  }
  ExprRef at_call(const Call& call, const Function* function, const FuncType& scheme) {
    if (!scheme.is_scheme() || call.type() == nullptr) return ExprRef(function);
    std::vector<TypeRef> params;
    for (const ExprRef& arg : call.args()) {
      if (arg->type() == nullptr) return ExprRef(function);
      params.emplace_back(arg->type());
    }
    inference::TypeVarSet which, outer;
    for (const TypeVarRef& param : scheme.type_params()) which.insert(param.get());
    const inference::Substitution types = inference::match_scheme(
        &scheme, FuncType::make(std::move(params), TypeRef(call.type())), which);
    if (types.size() != which.size()) return ExprRef(function);
    Key key{function, {}};
    for (const auto& [param, type] : types) {
      if (!type) return ExprRef(function);
      for (const TypeVarRef& name : free_type_vars(type)) outer.insert(name.get());
      key.second.push_back(type.get());
    }
    auto [entry, fresh] = instances_.try_emplace(std::move(key));
    if (fresh) {
      made_ += count_nodes(function);
      if (made_ > kMostNodes) throw too_many(call.span());
      entry->second = {ExprRef(function), types,
                       inference::instantiate_function(function, &scheme, types, true, outer)};
    }
    return entry->second.instance;
  }

  using Key = std::pair<const Function*, std::vector<const Type*>>;
  struct Instance {
    ExprRef function;               // whose address, and whose types',
    inference::Substitution types;  // are the key
    ExprRef instance;
  };
  std::map<Key, Instance> instances_;
  size_t made_ = 0;
};

/// The typed module with each of its functions rewritten, and typed again.
template <class Pass>
Module rewritten_by(Module module) {
  const Module typed = module;
  bool changed = false;
  for (const auto& entry : typed.functions()) {
    ExprRef rewritten = Pass().run(entry.function);
    if (rewritten == entry.function) continue;
    module.update_function(entry.name, FunctionRef(copy_nodes(rewritten)->as<Function>()));
    changed = true;
  }
  if (changed) infer_types_or_throw(module);
  return module;
}

}  // namespace

Module without_polymorphic_lets(Module module) {
  infer_types_or_throw(module);
  return rewritten_by<PolymorphicCalls>(rewritten_by<PolymorphicLets>(std::move(module)));
}

}  // namespace relay
