#include <relay/transform/external_code.h>

#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

constexpr const char* kCompiler = "Compiler";

struct Registered {
  std::string doc;
  std::shared_ptr<const CodeGenerator> generate;
};

struct Registry {
  std::mutex lock;
  std::map<std::string, Registered, std::less<>> all;
  static Registry& instance() {
    static auto* registry = new Registry;
    return *registry;
  }
};

std::shared_ptr<const CodeGenerator> find_generator(const std::string& name) {
  Registry& registry = Registry::instance();
  std::lock_guard guard(registry.lock);
  auto found = registry.all.find(name);
  return found == registry.all.end() ? nullptr : found->second.generate;
}

AttrsRef without_compiler(const AttrsRef& attrs) {
  std::map<Name, AttrValue> values = attrs->as<DictAttrs>().values;
  values.erase(Name(kCompiler));
  values.erase(Name("Primitive"));  // PartitionGraph's mark: it is no kernel of this compiler
  return values.empty() ? AttrsRef() : make_dict_attrs(std::move(values));
}

FunctionRef with_attrs(const Function& function, ExprRef body, AttrsRef attrs) {
  return make_function({function.params().begin(), function.params().end()}, std::move(body),
                       TypeRef(function.ret_type()),
                       {function.type_params().begin(), function.type_params().end()},
                       {function.constraints().begin(), function.constraints().end()},
                       std::move(attrs), function.span());
}

// False if two types differ whatever names of dimensions in them stand for.
bool may_be_equal(const TypeRef& a, const TypeRef& b) {
  if (types_equal(a, b)) return true;
  if (free_type_vars(a).empty() && free_type_vars(b).empty()) return false;
  const auto *one = a->as<TensorType>(), *other = b->as<TensorType>();
  if (one == nullptr || other == nullptr || !one->has_rank() || !other->has_rank()) return true;
  if (one->has_dtype() && other->has_dtype() && !(one->dtype() == other->dtype())) return false;
  if (one->dims().size() != other->dims().size()) return false;
  for (size_t i = 0; i < one->dims().size(); ++i) {
    const Dim x = one->dims()[i], y = other->dims()[i];
    if (x.is_int() && y.is_int() && !(x == y)) return false;
  }
  return true;
}

// Puts code in the place of the functions of one module.
class Generation final : public Rewriter {
 public:
  Generation(const Module& module, const PassContext& context)
      : module_(module), context_(context) {}

  Module generate() {
    Module result = module_;
    for (const auto& entry : module_.functions()) {
      if (!mentions_external(entry.function.get())) continue;
      symbol_ = entry.name.str();
      global_ = entry.function.get();
      result.update_function(entry.name,
                             FunctionRef(Rewriter::run(entry.function)->as<Function>()));
    }
    if (!made_.empty()) check(result);
    return result;
  }

 private:
  static bool mentions_external(const Expr* root) {
    bool any = false;
    post_order(root, [&](const Expr* expr) {
      const auto* function = expr->as<Function>();
      any |= function != nullptr && compiler_of(*function).has_value();
    });
    return any;
  }

  // The inside of a function belongs to its generator, too.
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    std::optional<std::string> compiler =
        function == nullptr ? std::nullopt : compiler_of(*function);
    if (!compiler) return {};
    std::shared_ptr<const CodeGenerator> generator = find_generator(*compiler);
    if (generator) return code_of(*function, *compiler, *generator);
    if (told_.insert(*compiler).second) {
      context_.tell(
          Diagnostic::warning(
              fmt::format("there is no code generator \"{}\": relay compiles its functions",
                          *compiler),
              function->span())
              .help("relay.codegen.register in Python names one"));
    }
    return {};
  }
  // Functions that nobody takes become ordinary ones, with the code of those inside.
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* function = expr->as<Function>();
    if (function == nullptr || !compiler_of(*function)) return rebuild(expr, operands);
    return with_attrs(*function, operands[0], without_compiler(function->attrs()));
  }

  FunctionRef code_of(const Function& function, const std::string& compiler,
                      const CodeGenerator& generator) {
    AttrValue given = dict_attr(function.attrs(), "global_symbol");
    const auto* named = given.get<std::string>();
    std::string symbol = named != nullptr ? *named : &function == global_ ? symbol_ : "fn";
    std::string where =
        fmt::format("in @{}, which is for the code generator \"{}\"", symbol, compiler);
    auto refuse = [&](const std::string& why) -> FunctionRef {
      throw Error(Diagnostic::error(why, function.span()).note(where));
    };
    std::vector<VarRef> outside = free_vars(&function);
    if (!outside.empty())
      return refuse("the function uses %" + outside.front()->name().str() +
                    " of the function around it: it has to be a parameter");
    FunctionRef code;
    try {
      code = generator(FunctionRef(&function), symbol);
    } catch (const Error& error) {
      std::vector<Diagnostic> diagnostics = error.diagnostics();
      for (Diagnostic& diagnostic : diagnostics) diagnostic.note(where);
      throw Error(std::move(diagnostics));
    }
    if (!code || code->params().size() != function.params().size())
      return refuse(fmt::format("the code takes {} parameters, the function {}",
                                code ? code->params().size() : 0, function.params().size()));
    for (size_t i = 0; i < code->params().size(); ++i) {
      const TypeRef annotation(code->params()[i]->annotation());
      const TypeRef wanted(function.params()[i]->type());
      if (annotation == nullptr || wanted == nullptr || may_be_equal(annotation, wanted)) continue;
      return refuse(fmt::format("parameter {} of the code is {}, that of the function {}", i + 1,
                                annotation->str(), wanted->str()));
    }
    made_.push_back(where);
    return typed_like(function, code);
  }

  // Calls the code on parameters of the function's types, with its result: what does not fit shows
  // when types are inferred.
  static FunctionRef typed_like(const Function& function, const FunctionRef& code) {
    const auto* type = function.type() == nullptr ? nullptr : function.type()->as<FuncType>();
    std::vector<VarRef> params;
    std::vector<ExprRef> args;
    std::unordered_map<const Var*, ExprRef> inside;
    for (size_t i = 0; i < function.params().size(); ++i) {
      const VarRef& old = function.params()[i];
      params.push_back(
          make_var(old->name(), type == nullptr ? TypeRef() : type->params()[i], old->span()));
      args.push_back(params.back());
      inside.emplace(code->params()[i].get(), params.back());
    }
    // A kernel stays a function. The function that came in is none, though PartitionGraph marked
    // it.
    const bool kernel =
        !dict_attr(code->attrs(), "Primitive").is_none() && !compiler_of(*code).has_value();
    ExprRef body =
        kernel ? make_call(code, args, {}, {}, function.span()) : substitute(code->body(), inside);
    return make_function(std::move(params), std::move(body),
                         type == nullptr ? TypeRef() : type->result(),
                         {function.type_params().begin(), function.type_params().end()}, {},
                         without_compiler(function.attrs()), function.span());
  }

  void check(const Module& result) const {
    Module typed = result;
    std::vector<Diagnostic> errors;
    for (Diagnostic& diagnostic : infer_types(typed)) {
      if (diagnostic.severity != Severity::kError) continue;
      errors.push_back(made_.size() == 1
                           ? std::move(diagnostic).note(made_.front())
                           : std::move(diagnostic).note("in what code generators made"));
    }
    if (!errors.empty()) throw Error(std::move(errors));
  }

  const Module& module_;
  const PassContext& context_;
  std::string symbol_;                // of the global function that is rewritten
  const Function* global_ = nullptr;  // that function
  std::set<std::string> told_;
  std::vector<std::string> made_;
};

void bind_dims_of(const TypeRef& pattern, std::span<const TypeRef> tensors, size_t& next,
                  std::map<const TypeVar*, Dim>& bound) {
  if (const auto* tuple = pattern->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) bind_dims_of(field, tensors, next, bound);
    return;
  }
  if (next >= tensors.size()) return;
  const auto* wanted = pattern->as<TensorType>();
  const auto* found = tensors[next++]->as<TensorType>();
  if (wanted == nullptr || found == nullptr) return;
  const auto* names = wanted->shape()->as<ShapeType>();
  const auto* dims = found->shape()->as<ShapeType>();
  if (names == nullptr || dims == nullptr) return;
  for (size_t i = 0; i < names->dims().size() && i < dims->dims().size(); ++i) {
    if (const TypeVar* symbol = names->dims()[i].as_symbol())
      bound.emplace(symbol, dims->dims()[i]);
  }
}

RELAY_REGISTER_PASS({
    {"GenerateExternalCode",
     0,
     {ProgramState::kTyped},
     "Puts the code that registered code generators make of functions with the attribute Compiler "
     "in their place, as compilation does first; functions of a generator that is not registered "
     "become ordinary ones."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_module_pass(info, generate_external_code);
    },
});

}  // namespace

void register_code_generator(const std::string& name, std::string doc, CodeGenerator generate,
                             bool replace) {
  Registry& registry = Registry::instance();
  std::lock_guard guard(registry.lock);
  Registered made{std::move(doc), std::make_shared<const CodeGenerator>(std::move(generate))};
  if (replace) {
    registry.all.insert_or_assign(name, std::move(made));
  } else if (!registry.all.emplace(name, std::move(made)).second) {
    throw Error("there is a code generator \"" + name + "\" already");
  }
}

bool remove_code_generator(std::string_view name) {
  Registry& registry = Registry::instance();
  Registered removed;  // let go of without the lock: its end may run code of its own
  std::lock_guard guard(registry.lock);
  auto found = registry.all.find(name);
  if (found == registry.all.end()) return false;
  removed = std::move(found->second);
  registry.all.erase(found);
  return true;
}

std::vector<std::pair<std::string, std::string>> code_generators() {
  Registry& registry = Registry::instance();
  std::lock_guard guard(registry.lock);
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& [name, made] : registry.all) result.emplace_back(name, made.doc);
  return result;
}

std::optional<std::string> compiler_of(const Function& function) {
  AttrValue value = dict_attr(function.attrs(), kCompiler);
  const auto* name = value.get<std::string>();
  if (name == nullptr || name->empty()) return std::nullopt;
  return *name;
}

Module generate_external_code(const Module& module, const PassContext& context) {
  return Generation(module, context).generate();
}

TypeRef result_type_on(const FuncType& type, std::span<const TypeRef> tensors) {
  std::map<const TypeVar*, Dim> bound;
  size_t next = 0;
  for (const TypeRef& param : type.params()) bind_dims_of(param, tensors, next, bound);
  return substitute(type.result(), [&](const TypeVar* var) -> TypeRef {
    if (var->var_kind() != Kind::kShapeVar) return {};
    auto found = bound.find(var);
    return DimType::make(found == bound.end() ? Dim::any() : found->second);
  });
}

}  // namespace relay
