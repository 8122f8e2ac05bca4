// Well-formedness apart from types.
#include <algorithm>
#include <unordered_set>

#include <relay/infer/infer.h>
#include <relay/ir/effects.h>
#include <relay/ir/visit.h>
#include <relay/support/pointer_map.h>

namespace relay {
namespace {

/// The binder of a variable, in words, and its place.
struct Binder {
  const char* kind;
  Name function;
  Span span;
};

/// Walks one function with the variables in scope. A shared node is walked where it is met first;
/// where it is met again its free variables must be in scope too, so those are remembered.
class Verifier {
 public:
  Verifier(Name function, const std::unordered_set<const Expr*>& effectful,
           PointerMap<Var, Binder>& bound, DiagnosticSink& sink)
      : function_(function), effectful_(effectful), bound_(bound), sink_(sink) {}

  void run(const Expr* root) {
    visit(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next < frame.expr->operands().size()) {
        uint32_t operand = frame.next++;
        const Expr* expr = frame.expr;
        before(expr, operand);
        visit(expr->operands()[operand].get());
        continue;
      }
      leave();
    }
  }

 private:
  // Free variables of a node, innermost ones if they are very many: those are what leaves a scope
  // first.
  static constexpr size_t kMaxFree = 64;
  using Free = std::vector<const Var*>;
  struct Frame {
    const Expr* expr;
    uint32_t next = 0;
    Free free;
  };
  struct Binding {
    bool active = false;
    uint32_t order = 0;
  };

  void error(std::string message, Span span) {
    Diagnostic diagnostic = Diagnostic::error(std::move(message), span).of_rule("E4");
    if (!span.known()) diagnostic.note("in function @" + function_.str());
    sink_.add(std::move(diagnostic));
  }

  void add(Free& free, const Var* var) {
    if (std::find(free.begin(), free.end(), var) != free.end()) return;
    if (free.size() < kMaxFree) {
      free.push_back(var);
      return;
    }
    auto outermost = std::min_element(free.begin(), free.end(), [&](const Var* a, const Var* b) {
      return bindings_[a].order < bindings_[b].order;
    });
    if (bindings_[*outermost].order < bindings_[var].order) *outermost = var;
  }

  void use(const Var* var, Span span) {
    const Binding* binding = bindings_.find(var);
    if (binding == nullptr || !binding->active) {
      error("%" + var->name().str() + " is used where it is not in scope", span);
      return;
    }
    if (!frames_.empty()) add(frames_.back().free, var);
  }

  void visit(const Expr* expr) {
    Span user = frames_.empty() ? expr->span() : frames_.back().expr->span();
    if (const auto* var = expr->as<Var>()) return use(var, user);
    if (!expr->has_one_owner() && !expr->operands().empty()) {
      if (const Free* free = shared_.find(expr)) {
        if (effectful_.count(expr) != 0) {
          error("a node with an effect is used in two places", expr->span());
        }
        // Program text has no words for it: another use is the variable.
        if (const Var* const* self = recursive_.find(expr)) {
          error("the recursive function of %" + (*self)->name().str() +
                    " is used in two places: elsewhere it is %" + (*self)->name().str(),
                expr->span());
        }
        for (const Var* var : Free(*free)) use(var, user);
        return;
      }
    }
    frames_.push_back({expr, 0, {}});
    if (expr->is<TempExpr>()) error("a pass left a TempExpr behind", expr->span());
    if (const auto* function = expr->as<Function>()) {
      for (const VarRef& param : function->params()) bind(param.get(), "a parameter", expr->span());
    } else if (const auto* let = expr->as<Let>()) {
      if (let->value()->is<Function>()) bind(let->var().get(), "a let", expr->span());
    }
  }

  void before(const Expr* expr, uint32_t operand) {
    if (const auto* let = expr->as<Let>()) {
      if (operand == 1 && !let->value()->is<Function>())
        bind(let->var().get(), "a let", expr->span());
    } else if (const auto* match = expr->as<Match>()) {
      if (operand > 1) unbind(match->patterns()[operand - 2].get());
      if (operand > 0) {
        for (const VarRef& var : pattern_vars(match->patterns()[operand - 1].get()))
          bind(var.get(), "a pattern", expr->span());
      }
    }
  }

  void leave() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const Expr* expr = frame.expr;
    if (const auto* function = expr->as<Function>()) {
      for (const VarRef& param : function->params()) end(param.get());
    } else if (const auto* let = expr->as<Let>()) {
      end(let->var().get());
    } else if (const auto* match = expr->as<Match>()) {
      if (!match->patterns().empty()) unbind(match->patterns().back().get());
    }
    Free outer;
    for (const Var* var : frame.free) {
      if (bindings_[var].active) outer.push_back(var);
    }
    if (!frames_.empty()) {
      for (const Var* var : outer) add(frames_.back().free, var);
      const auto* let = frames_.back().expr->as<Let>();
      if (let != nullptr && expr->is<Function>() && !expr->has_one_owner() &&
          frames_.back().next == 1 &&
          std::find(outer.begin(), outer.end(), let->var().get()) != outer.end()) {
        recursive_[expr] = let->var().get();
      }
    }
    if (!expr->has_one_owner() && !expr->operands().empty()) shared_[expr] = std::move(outer);
  }

  void bind(const Var* var, const char* kind, Span span) {
    Binder binder{kind, function_, span};
    if (const Binder* first = bound_.find(var)) {
      auto words = [](const Binder& b) {
        return std::string("bound by ") + b.kind + " in @" + b.function.str();
      };
      sink_.add(Diagnostic::error("%" + var->name().str() + " is bound in two places", var->span())
                    .note(words(*first), first->span)
                    .note(words(binder), binder.span));
    } else {
      bound_[var] = binder;
    }
    bindings_[var] = {true, next_++};
  }
  void end(const Var* var) { bindings_[var].active = false; }
  void unbind(const Pattern* pattern) {
    for (const VarRef& var : pattern_vars(pattern)) end(var.get());
  }

  Name function_;
  const std::unordered_set<const Expr*>& effectful_;
  PointerMap<Var, Binder>& bound_;
  DiagnosticSink& sink_;
  std::vector<Frame> frames_;
  PointerMap<Var, Binding> bindings_;
  PointerMap<Expr, Free> shared_;
  PointerMap<Expr, const Var*> recursive_;  // shared functions that mention their let
  uint32_t next_ = 0;
};

}  // namespace

std::vector<Diagnostic> verify(const Module& module) {
  DiagnosticSink sink;
  Effects effects(module);
  PointerMap<Var, Binder> bound;
  for (const auto& entry : module.functions()) {
    const Expr* function = entry.function.get();
    Verifier(entry.name, effects.effectful_nodes(function), bound, sink).run(function);
  }
  return sink.take();
}

}  // namespace relay
