// SimplifyExpr: the rules of relay/op/registry/simplify.h until none applies.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include <relay/eval/eval.h>
#include <relay/infer/devices/devices.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/simplify.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/transform/fusion.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// A chain of calls is simplified in one walk; what rules write inside is in the next.
constexpr int kMaxWalks = 16;
constexpr int kMaxRulesAtOneCall = 16;
// Nodes that a rule looks at or writes.
constexpr int kMaxPattern = 16;

const Operator* op_of(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  return node == nullptr ? nullptr : node->op();
}

// True if separate numbers may become one: no result leaves the range of floats.
bool keeps_range(const NDArray& result, const std::vector<Value>& arguments) {
  if (!result.dtype().is_float()) return true;
  auto least = [](const NDArray& array) {
    double found = INFINITY;
    int64_t count = array.is_uniform() ? 1 : array.size();
    for (int64_t i = 0; i < count; ++i) {
      double value = std::abs(array.element_as_double(i));
      found = std::isnan(value) || std::isinf(value) ? -1 : std::min(found, value);
      if (found < 0) break;
    }
    return found;
  };
  double smallest = least(result);
  if (smallest < 0) return false;
  bool zero_before = false;
  for (const Value& argument : arguments) zero_before |= least(argument.array()) == 0;
  double normal = result.dtype() == kFloat16 ? 0x1p-14 : 0x1p-126;
  return smallest >= normal || zero_before;
}

class Simplifier final : public Rewriter {
 public:
  Simplifier(const Function* root, const LazyEffects& effects, bool exact, bool devices)
      : root_(root), effects_(effects), exact_(exact), devices_(devices) {
    post_order(root, [&](const Expr* expr) {
      for (const ExprRef& operand : expr->operands()) ++uses_[operand.get()];
    });
  }
  bool changed() const { return changed_; }

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef result = rebuild(expr, operands);
    if (op_of(expr) == nullptr || acts(expr)) return noted(expr, result);
    for (int i = 0; i < kMaxRulesAtOneCall; ++i) {
      ExprRef next = simplified(result, expr->span());
      if (!next) break;
      changed_ = true;
      kept_.push_back(result);
      result = std::move(next);
    }
    return noted(expr, result);
  }

  // The result is used where the node was.
  ExprRef noted(const Expr* expr, const ExprRef& result) {
    if (result.get() == expr) return result;
    uint32_t uses = uses_[expr];
    uses_[result.get()] += uses;
    kept_.push_back(result);
    return result;
  }

  // The replacement may leave an argument out or use it twice.
  bool acts(const Expr* old) {
    if (!effects_.get().any()) return false;
    if (!effectful_) effectful_ = effects_.get().effectful_nodes(root_);
    return effectful_->count(old) != 0;
  }

  ExprRef simplified(const ExprRef& expr, Span span) {
    const Operator* op = op_of(expr.get());
    if (op == nullptr) return {};
    std::span<const SimplifyRule> rules = simplify_rules(op);
    if (rules.empty()) return {};
    std::optional<OpCall> call = tensor_call(expr.get());
    if (!call) return {};
    for (const SimplifyRule& rule : rules) {
      if (exact_ && rule.keeps != Keeps::kBits && call->result().dtype.is_float()) continue;
      try {
        ExprRef written = rule.apply(*call, static_cast<const Call&>(*expr).args());
        if (!written) continue;
        int calls = 0;
        written = typed(written, span, calls, true);
        if (!written || written->type() != expr->type()) continue;
        if (devices_ && !follows_tensor(written.get())) continue;
        if (calls > 1 && !replaces_all(expr, written)) continue;
        return written;
      } catch (const Error&) {
        continue;  // the call says what is wrong when it runs
      }
    }
    return {};
  }

  // The expression with types at its new nodes, which are those without one, and calls of constants
  // inside computed. Null if that cannot be. Rules write a few nodes.
  ExprRef typed(const ExprRef& expr, Span span, int& calls, bool root) {
    if (expr->type() != nullptr) return expr;
    if (const auto* constant = expr->as<Constant>()) {
      expr->publish_type(type_of_array(constant->data()));
      return expr;
    }
    const Operator* op = op_of(expr.get());
    if (op == nullptr || ++calls > kMaxPattern) return {};
    const auto& call = static_cast<const Call&>(*expr);
    std::vector<ExprRef> args;
    std::vector<TypeRef> types;
    bool constants = !call.args().empty();
    for (size_t i = 0; i < call.args().size(); ++i) {
      bool again = i > 0 && call.args()[i] == call.args()[i - 1];
      args.push_back(again ? args.back() : typed(call.args()[i], span, calls, false));
      if (!args.back()) return {};
      types.emplace_back(args.back()->type());
      constants &= args.back()->is<Constant>();
    }
    if (constants && !root) {
      --calls;
      return folded(op, call, args);
    }
    ExprRef result = make_call(call.callee(), args, call.attrs(), call.type_args(), span);
    TypeRef type = infer_call_type(op, types, OpCall(op, call.attrs(), types, {}).attrs_ref(),
                                   nullptr, [&](size_t i) -> std::optional<NDArray> {
                                     const auto* constant = args[i]->as<Constant>();
                                     if (constant == nullptr) return std::nullopt;
                                     return constant->data();
                                   });
    if (!type) return {};
    result->set_type(std::move(type));
    return result;
  }

  // Folds constants into one, if that is no larger than they are.
  static ExprRef folded(const Operator* op, const Call& call, const std::vector<ExprRef>& args) {
    std::vector<Value> values;
    int64_t most = 0;
    for (const ExprRef& arg : args) {
      const NDArray& data = arg->as<Constant>()->data();
      values.emplace_back(data);
      most = std::max(most, data.size());
    }
    Value value = apply_op(op, call.attrs(), values, call.span());
    if (!value.is_tensor() || value.array().size() > most) return {};
    if (!keeps_range(value.array(), values)) return {};
    ExprRef constant = make_constant(value.array(), call.span());
    constant->set_type(type_of_array(value.array()));
    return constant;
  }

  // True if it is on the device of the tensor that it is computed from: another call could be on
  // any.
  static bool follows_tensor(const Expr* expr) {
    if (op_of(expr) == nullptr || is_number_type(expr->type())) return true;
    std::span<const ExprRef> args = static_cast<const Call*>(expr)->args();
    return std::any_of(args.begin(), args.end(),
                       [](const ExprRef& arg) { return !is_number_type(arg->type()); });
  }

  // True if all calls of the pattern disappear: none is used elsewhere, so nothing is computed
  // twice.
  bool replaces_all(const ExprRef& pattern, const ExprRef& written) {
    PointerSet<Expr> needed;
    int visited = 0;
    std::vector<const Expr*> stack{written.get()};
    while (!stack.empty()) {
      const Expr* expr = stack.back();
      stack.pop_back();
      if (!needed.insert(expr)) continue;
      // Nodes without a use are new.
      if (uses_.find(expr) != nullptr || op_of(expr) == nullptr) continue;
      for (const ExprRef& arg : static_cast<const Call*>(expr)->args()) stack.push_back(arg.get());
    }
    stack = {pattern.get()};
    while (!stack.empty()) {
      const Expr* expr = stack.back();
      stack.pop_back();
      if (++visited > kMaxPattern) return false;
      for (const ExprRef& arg : static_cast<const Call*>(expr)->args()) {
        if (needed.contains(arg.get()) || op_of(arg.get()) == nullptr) continue;
        const uint32_t* uses = uses_.find(arg.get());
        if (uses != nullptr && *uses > 1) return false;
        stack.push_back(arg.get());
      }
    }
    return true;
  }

  const Function* root_;
  const LazyEffects& effects_;
  bool exact_, devices_;
  bool changed_ = false;
  PointerMap<Expr, uint32_t> uses_;
  std::vector<ExprRef> kept_;  // so that no new node stands where a replaced one stood
  std::optional<std::unordered_set<const Expr*>> effectful_;
};

FunctionRef simplify(FunctionRef function, const LazyEffects& effects, bool exact, bool devices) {
  if (has_open_literals(function.get())) return function;
  for (int walk = 0; walk < kMaxWalks; ++walk) {
    bool any = false;
    visit_each(function.get(), [&](const Expr* expr) {
      const Operator* op = op_of(expr);
      any |= op != nullptr && !simplify_rules(op).empty();
      return !any;
    });
    if (!any) break;
    Simplifier simplifier(function.get(), effects, exact, devices);
    ExprRef result = simplifier.run(function);
    if (!simplifier.changed()) break;
    function = FunctionRef(result->as<Function>());
  }
  return function;
}

RELAY_REGISTER_PASS({
    {"SimplifyExpr",
     0,
     {ProgramState::kTyped},
     "Writes calls shorter by rules, until none applies: a call that takes its shape or dtype from "
     "another tensor gets it as an attribute; transposes, layouts, reshapes and casts of one "
     "another become one or none; x + 0, x - 0, x * 1, x / 1 become x; constants beside constants "
     "are computed; 1 / sqrt(x) becomes rsqrt(x); x + x becomes x * 2, and x * x + 2 * x * y + y * "
     "y a square; bounds that all integers keep go; the largest of dequantised numbers is that of "
     "the integers. A rule that writes several calls applies only if all calls that it "
     "replaces disappear."},
    {{"exact", "Only rules that change no bit of a result.", false}},
    [](const PassInfo& info, const PassOptions& options) {
      bool exact = option<bool>(options, "exact");
      return make_prepared_function_pass(info, [exact](const Module& module, const PassContext&) {
        return [exact, devices = uses_devices(module),
                effects = LazyEffects(module)](const FunctionRef& function) {
          return simplify(function, effects, exact, devices);
        };
      });
    },
});

}  // namespace
}  // namespace relay
