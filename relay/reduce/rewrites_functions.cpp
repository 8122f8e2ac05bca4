// Functions, their parameters and results, calls of them; data types.
#include <memory>
#include <utility>

#include <relay/ir/visit.h>
#include <relay/reduce/rewrites.h>
#include <relay/transform/inline_calls.h>

namespace relay::reduce {

namespace {

TypeRef type_of(const Expr* expr) { return TypeRef(expr->type()); }

bool mentions(const Expr* root, const Expr* what) {
  bool found = false;
  visit_each(root, [&](const Expr* expr) {
    found |= expr == what;
    return !found;
  });
  return found;
}

bool mentions(const Expr* root, Name global) {
  bool found = false;
  visit_each(root, [&](const Expr* expr) {
    const auto* var = expr->as<GlobalVar>();
    found |= var != nullptr && var->name() == global;
    return !found;
  });
  return found;
}

}  // namespace

// With a simple value in the place of each call.
std::vector<Edit> drop_functions(const Program& program) {
  std::unordered_map<Name, std::vector<const Expr*>> calls;
  for (const Program::Node& node : program.nodes) {
    const auto* call = node.expr->as<Call>();
    const auto* global = call == nullptr ? nullptr : call->callee()->as<GlobalVar>();
    if (global != nullptr) calls[global->name()].push_back(call);
  }
  std::vector<Edit> edits;
  for (const Module::FunctionEntry& entry : program.module.functions()) {
    edits.push_back([name = entry.name, calls = calls[entry.name]](Draft& draft) {
      draft.drop_function(name);
      for (const Expr* call : calls) {
        if (ExprRef by = simplest(type_of(call), draft.module())) draft.replace(call, by);
      }
    });
  }
  return edits;
}

std::vector<Edit> drop_types(const Program& program) {
  std::vector<Edit> edits;
  for (const TypeDataRef& type : program.module.types())
    edits.push_back([name = type->name()->name()](Draft& draft) { draft.drop_type(name); });
  return edits;
}

std::vector<Edit> drop_constructors(const Program& program) {
  std::vector<Edit> edits;
  for (const TypeDataRef& type : program.module.types()) {
    for (const ConstructorRef& constructor : type->constructors()) {
      if (program.used_constructors.count(constructor.get()) != 0) continue;
      edits.push_back([c = constructor.get()](Draft& draft) { draft.drop_constructor(c); });
    }
  }
  return edits;
}

// Makes a part of the result the result, of any type, since nobody calls the function. If the
// result is behind lets, takes the value of one of them, or a part of the expression behind the
// last. Variables of a closure or a clause around the part become parameters.
std::vector<Edit> choose_results(const Program& program) {
  std::vector<Edit> edits;
  for (const Module::FunctionEntry& entry : program.module.functions()) {
    if (program.free_functions.count(entry.name) == 0) continue;
    std::vector<Edit> own;
    auto scope = std::make_shared<std::unordered_set<const Var*>>();
    for (const VarRef& param : entry.function->params()) scope->insert(param.get());
    const Expr* tail = entry.function->body().get();
    while (const auto* let = tail->as<Let>()) {
      own.push_back([let, f = entry.function.get()](Draft& draft) {
        draft.replace(let, let->value());
        draft.drop_ret_type(f);
      });
      scope->insert(let->var().get());
      tail = let->body().get();
    }
    post_order(tail, [&](const Expr* expr) {
      if (expr == tail || expr->operands().empty()) return;
      own.push_back([tail, expr, scope, entry = &entry](Draft& draft) {
        draft.replace(tail, ExprRef(expr));
        draft.drop_ret_type(entry->function.get());
        for (const VarRef& var : free_vars(expr)) {
          const auto* type = var->type() == nullptr ? nullptr : var->type()->as<TensorType>();
          if (scope->count(var.get()) != 0 || type == nullptr || !type->closed()) continue;
          VarRef param = make_var(var->name(), TypeRef(type));
          draft.replace(var.get(), param);
          draft.add_param(entry->name, param);
        }
      });
    });
    // By halves: the middle one first, then those in the middles of the rests.
    for (size_t step = (own.size() + 1) / 2; step > 0; step = step == 1 ? 0 : (step + 1) / 2) {
      for (size_t i = step; i <= own.size(); i += step) {
        if (own[i - 1]) edits.push_back(std::exchange(own[i - 1], nullptr));
      }
    }
  }
  return edits;
}

// The value in the place of the variable; a value that nobody uses goes.
std::vector<Edit> inline_lets(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* let = node.expr->as<Let>();
    if (let == nullptr) continue;
    const Expr* value = let->value().get();
    if (value->is<Function>() && mentions(value, let->var().get())) {
      // A recursive function: only where nobody else calls it.
      edits.push_back([let](Draft& draft) { draft.replace(let, let->body()); });
      continue;
    }
    edits.push_back([let](Draft& draft) {
      draft.replace(let->var().get(), let->value());
      draft.replace(let, let->body());
    });
  }
  return edits;
}

namespace {

std::vector<Edit> inlined(const Program& program, bool pure) {
  std::unordered_map<const Function*, size_t> calls;
  for (const Program::Node& node : program.nodes) {
    if (const auto* call = node.expr->as<Call>()) {
      if (const Function* callee = program.callee(*call)) ++calls[callee];
    }
  }
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* call = node.expr->as<Call>();
    const Function* callee = call == nullptr ? nullptr : program.callee(*call);
    if (callee == nullptr || !can_inline(*callee, call->args().size())) continue;
    const auto* global = call->callee()->as<GlobalVar>();
    if (global != nullptr && mentions(callee, global->name())) continue;
    if (call->callee()->is<Var>() && mentions(callee, call->callee().get())) continue;
    bool last = global != nullptr && calls[callee] == 1;
    edits.push_back([call, callee, pure, last](Draft& draft) {
      draft.replace(call, inline_call(*callee, call->args(), pure));
      if (last) draft.drop_function(call->callee()->as<GlobalVar>()->name());
    });
  }
  return edits;
}

}  // namespace

std::vector<Edit> inline_calls(const Program& program) { return inlined(program, true); }
std::vector<Edit> bind_calls(const Program& program) { return inlined(program, false); }

// With a simple value where one is used.
std::vector<Edit> drop_params(const Program& program) {
  std::vector<Edit> edits;
  for (const Module::FunctionEntry& entry : program.module.functions()) {
    const auto& params = entry.function->params();
    for (size_t i = 0; i < params.size(); ++i) {
      const Var* param = params[i].get();
      bool used = program.used_vars.count(param) != 0;
      edits.push_back([name = entry.name, i, param, used](Draft& draft) {
        draft.drop_param(name, i);
        if (!used) return;
        if (ExprRef by = simplest(type_of(param), draft.module())) draft.replace(param, by);
      });
    }
  }
  return edits;
}

// Replaces a parameter by an earlier one of its type.
std::vector<Edit> merge_params(const Program& program) {
  std::vector<Edit> edits;
  for (const Module::FunctionEntry& entry : program.module.functions()) {
    const auto& params = entry.function->params();
    for (size_t i = 1; i < params.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (params[k]->type() == nullptr || params[k]->type() != params[i]->type()) continue;
        edits.push_back([name = entry.name, i, from = params[i], to = params[k]](Draft& draft) {
          draft.drop_param(name, i);
          draft.replace(from.get(), to);
        });
        break;
      }
    }
  }
  return edits;
}

}  // namespace relay::reduce
