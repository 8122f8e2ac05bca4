// Whole programs in continuation-passing style.
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/ir/type_fields.h>
#include <relay/ir/visit.h>
#include <relay/program/call_graph.h>
#include <relay/support/error.h>
#include <relay/transform/cps.h>
#include <relay/transform/first_order.h>
#include <relay/transform/fusion.h>
#include <relay/transform/gradient/gradient.h>
#include <relay/transform/literals.h>

namespace relay {

namespace {

using Renamed = std::function<Name(const Name&)>;

// Kernels, and functions that somebody else compiles, are called like operators.
bool called_directly(const Function& function) {
  if (is_primitive(&function)) return true;
  return function.attrs() && !(dict_attr(function.attrs(), "Compiler").is_none() &&
                               dict_attr(function.attrs(), "Extern").is_none());
}

// Functions in this style give the answer that their caller wants, which a field of a data type
// cannot say.
class FieldCheck {
 public:
  explicit FieldCheck(const Module& module) {
    for (const TypeDataRef& data : module.types()) {
      for (const ConstructorRef& constructor : data->constructors()) {
        for (const TypeRef& field : constructor->inputs()) {
          if (holds_functions(*field)) fields_[constructor.get()] = {data.get(), field};
        }
      }
    }
  }

  void check(const Function& function) const {
    if (fields_.empty()) return;
    post_order(&function, [&](const Expr* expr) {
      if (const auto* constructor = expr->as<Constructor>()) refuse(constructor, expr->span());
      const auto* match = expr->as<Match>();
      for (size_t i = 0; match != nullptr && i < match->patterns().size(); ++i)
        check(*match->patterns()[i]);
    });
  }

 private:
  struct Field {
    const TypeData* data;
    TypeRef type;
  };
  // As deep as patterns are, which is bounded.
  void check(const Pattern& pattern) const {
    if (pattern.kind() == PatternKind::kConstructor)
      refuse(pattern.constructor().get(), pattern.span());
    for (const PatternRef& field : pattern.fields()) check(*field);
  }
  void refuse(const Constructor* constructor, Span place) const {
    auto found = fields_.find(constructor);
    if (found == fields_.end()) return;
    const auto& [data, type] = found->second;
    throw Error(
        Diagnostic::error("functions inside of the data type " + data->name()->name().str() +
                              " cannot be in continuation-passing style",
                          place)
            .note("a field of " + constructor->name().str() + " has the type " + type->str(),
                  data->span())
            .help("make the field's type a parameter of the data type"));
  }

  std::unordered_map<const Constructor*, Field> fields_;
};

// Those of `names` that are in this style already: they have its form, and so have all that mention
// them. Others have the form by chance, as a function that applies its argument has: it is called
// and returns.
std::unordered_set<Name> in_this_style(const Module& module, const std::vector<Name>& names) {
  std::unordered_set<Name> found;
  std::vector<Name> others;
  for (const Name& name : names) {
    const Function& function = *module.function(name);
    if (!called_directly(function) && is_cps(function)) {
      found.insert(name);
    } else {
      others.push_back(name);
    }
  }
  const CallGraph graph(module);
  while (!others.empty() && !found.empty()) {
    const Name caller = others.back();
    others.pop_back();
    for (const Name& callee : graph.callees(caller))
      if (found.erase(callee) > 0) others.push_back(callee);
  }
  return found;
}

// Those of `names` that are to be in this style, typed again after what to_cps needs.
class CpsModule {
 public:
  CpsModule(Module module, const std::vector<Name>& names)
      : bound_(std::move(module)), already_(in_this_style(bound_, names)) {
    const FieldCheck fields(bound_);
    const Program program(bound_);
    for (const Name& name : names) {
      const Function& function = *bound_.function(name);
      if (called_directly(function) || already_.count(name) > 0) continue;
      fields.check(function);
      converted_.push_back(name);
      bound_.update_function(name, before_cps(program, FunctionRef(&function)));
    }
    infer_types_or_throw(bound_);
    bound_ = resolve_literals(bound_);
  }
  const std::vector<Name>& converted() const { return converted_; }
  bool is_already(const Name& name) const { return already_.count(name) > 0; }
  FunctionRef convert(const Name& name, const Renamed& renamed) const {
    return to_cps(FunctionRef(bound_.function(name)), renamed, bound_);
  }

 private:
  Module bound_;
  std::unordered_set<Name> already_;
  std::vector<Name> converted_;
};

}  // namespace

Module module_to_cps(const Module& given) {
  // A gradient is of a function that returns.
  const Module module = expand_gradients(given);
  std::vector<Name> names;
  for (const auto& entry : module.functions()) names.push_back(entry.name);
  CpsModule bound(module, names);
  std::unordered_set<Name> converted(bound.converted().begin(), bound.converted().end());
  auto renamed = [&](const Name& name) {
    return converted.count(name) > 0 || bound.is_already(name) ? name : Name();
  };
  Module result = module;
  for (const Name& name : bound.converted())
    result.update_function(name, bound.convert(name, renamed));
  return result;
}

FunctionRef function_to_cps(const FunctionRef& function, Module& module) {
  Module whole = module;
  const Name own = whole.fresh_name("function");
  whole.add_function(own, function);
  infer_types_or_throw(whole);
  whole = resolve_literals(whole);
  CpsModule bound(whole, CallGraph(whole).reachable({own}));
  std::unordered_map<Name, Name> names;
  for (const Name& name : bound.converted()) {
    names[name] = name == own ? own : module.fresh_name(name.str() + "_cps");
  }
  auto renamed = [&](const Name& name) {
    auto found = names.find(name);
    return found == names.end() ? Name() : found->second;
  };
  FunctionRef result = function;
  for (const Name& name : bound.converted()) {
    FunctionRef converted = bound.convert(name, renamed);
    if (name == own) {
      result = std::move(converted);
    } else {
      module.add_function(names[name], std::move(converted));
    }
  }
  return result;
}

}  // namespace relay
