// EtaExpand: constructors and global functions that are used as values become function literals.
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

struct EtaChoice {
  bool constructors;
  bool globals;
};

class EtaExpander final : public Rewriter {
 public:
  EtaExpander(const Module& module, EtaChoice chosen) : module_(module), chosen_(chosen) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    // The callee is no value. A name has no operands, so it is met where it is used.
    const size_t first = expr->is<Call>() ? 1 : 0;
    std::vector<ExprRef> expanded(operands.begin(), operands.end());
    for (size_t i = first; i < expanded.size(); ++i) {
      if (ExprRef literal = expand(expanded[i], expr->span())) expanded[i] = std::move(literal);
    }
    return rebuild(expr, expanded);
  }

  // `fn<A>(%p0: …) { NAME(%p0) }`, with parameters as the name's type says; null to leave it.
  ExprRef expand(const ExprRef& name, Span span) const {
    TypeRef type;
    if (const auto* constructor = name->as<Constructor>()) {
      if (!chosen_.constructors) return {};
      const TypeData* data = module_.type_data(constructor->type_name().get());
      if (data == nullptr || constructor->inputs().empty()) return {};
      type = constructor_type(*data, *constructor);
    } else if (const auto* global = name->as<GlobalVar>()) {
      const Function* function = chosen_.globals ? module_.function(global->name()) : nullptr;
      if (function == nullptr) return {};
      type = TypeRef(function->type());
    }
    const auto* signature = type ? type->as<FuncType>() : nullptr;
    if (signature == nullptr) return {};
    return make_literal(name, *signature, span);
  }

  static ExprRef make_literal(const ExprRef& name, const FuncType& signature, Span span) {
    // Type parameters of its own: those of the name are bound where it is defined.
    std::vector<TypeVarRef> type_params;
    auto own = [&](const TypeRef& type) {
      return substitute(type, [&](const TypeVar* var) -> TypeRef {
        for (size_t i = 0; i < type_params.size(); ++i) {
          if (signature.type_params()[i].get() == var) return type_params[i];
        }
        return {};
      });
    };
    for (const TypeVarRef& param : signature.type_params())
      type_params.push_back(TypeVar::make(param->name(), param->kind(), param->implicit()));
    std::vector<VarRef> params;
    std::vector<ExprRef> args;
    for (const TypeRef& param : signature.params()) {
      params.push_back(make_var("p" + std::to_string(params.size()), own(param), span));
      args.push_back(params.back());
    }
    ExprRef call = make_call(name, args, {}, {}, span);
    TypeRef result = own(signature.result());
    return make_function(std::move(params), std::move(call), std::move(result),
                         std::move(type_params), {}, {}, span);
  }

  const Module& module_;
  const EtaChoice chosen_;
};

RELAY_REGISTER_PASS({
    {"EtaExpand",
     1,
     {ProgramState::kTyped},
     "Makes function literals of constructors and global functions that are values: `Some` becomes "
     "`fn (%p0) { Some(%p0) }`. What is called where it stands remains. Without an option the pass "
     "changes nothing."},
    {{"expand_constructor", "Constructors that take something.", false},
     {"expand_global_var", "Global functions.", false}},
    [](const PassInfo& info, const PassOptions& options) {
      const EtaChoice chosen{option<bool>(options, "expand_constructor"),
                             option<bool>(options, "expand_global_var")};
      return make_function_pass(
          info, [chosen](const FunctionRef& function, const Module& module, const PassContext&) {
            if (!chosen.constructors && !chosen.globals) return function;
            return FunctionRef(EtaExpander(module, chosen).run(function)->as<Function>());
          });
    },
});

}  // namespace
}  // namespace relay
