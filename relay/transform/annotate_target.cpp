// AnnotateTarget: calls that code generators can take get annotations around them.
#include <relay/transform/annotate_target.h>

#include <algorithm>
#include <unordered_set>

#include <relay/ir/rewrite.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/forms.h>
#include <relay/pattern/pattern.h>
#include <relay/support/error.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/literals.h>

namespace relay {
namespace {

const char* const kDefault = "default";

/// The call of an annotation; null for other nodes.
const Call* annotation(const Expr* expr, const Operator* op) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  return callee != nullptr && callee->op() == op ? call : nullptr;
}

std::string target_text(const Call& call) {
  std::optional<AttrValue> value = attribute_of(&call, "compiler");
  const auto* text = value ? value->get<std::string>() : nullptr;
  return text == nullptr ? kDefault : *text;
}

bool can_be_annotated(const Type* type) {
  if (type == nullptr) return false;
  if (type->is<TensorType>()) return true;
  const auto* tuple = type->as<TupleType>();
  return tuple != nullptr && !tuple->fields().empty() && is_tuple_of_tensors(type);
}

/// True for functions that are the business of others already.
bool is_closed(const Function& function) {
  for (const char* key : {"Composite", "Compiler", "Primitive"}) {
    if (!dict_attr(function.attrs(), key).is_none()) return true;
  }
  return false;
}

class Annotator final : public Rewriter {
 public:
  Annotator(const FunctionRef& root, const AnnotateTargetOptions& options, const Effects& effects)
      : root_(root.get()),
        options_(options),
        effectful_(effects.effectful_nodes(root.get())),
        begin_(compiler_begin_op()),
        end_(compiler_end_op()) {
    post_order(root.get(), [&](const Expr* expr) {
      const Call* end = annotation(expr, end_);
      if (end != nullptr && target_text(*end) != kDefault)
        earlier_[end->args()[0].get()] = target_text(*end);
    });
  }

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && expr != root_ && is_closed(*function) ? ExprRef(expr) : ExprRef();
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (annotation(expr, begin_) != nullptr || annotation(expr, end_) != nullptr) {
      if (const std::string* target = targets_.find(expr->operands()[1].get()))
        targets_[expr] = std::string(*target);
      return operands[1];
    }
    const auto* call = expr->as<Call>();
    const bool is_node = expr->is<Tuple>() || expr->is<TupleGetItem>();
    std::string target;
    if (call != nullptr && can_be_a_region(*call)) {
      target = target_of(*call);
    } else if (is_node && options_.include_non_call_ops && can_be_annotated_here(expr)) {
      target = common_target(expr);
    } else {
      return ended(expr, operands);
    }
    std::vector<ExprRef> all(operands.begin(), operands.end());
    for (size_t i = call != nullptr ? 1 : 0; i < all.size(); ++i) {
      all[i] = make_compiler_begin(end(expr->operands()[i].get(), all[i]), target, expr->span());
    }
    targets_[expr] = target;
    return rebuild(expr, all);
  }

  // Also false for what is evaluated with an effect.
  bool can_be_annotated_here(const Expr* expr) const {
    if (effectful_.count(expr) != 0) return false;
    const size_t first = expr->is<Call>() ? 1 : 0;
    for (size_t i = first; i < expr->operands().size(); ++i) {
      if (!can_be_annotated(expr->operands()[i]->type())) return false;
    }
    return can_be_annotated(expr->type());
  }

  bool can_be_a_region(const Call& call) const {
    const auto* function = call.callee()->as<Function>();
    const bool composite =
        function != nullptr && !dict_attr(function->attrs(), "Composite").is_none();
    return (call.callee()->is<Op>() || composite) && can_be_annotated_here(&call);
  }

  /// The target of an earlier run, else the first that can take the call, else the default.
  std::string target_of(const Call& call) {
    std::string* known = earlier_.find(&call);
    if (known == nullptr) {
      for (const ExprRef& arg : call.args()) {
        const Call* begin = annotation(arg.get(), begin_);
        if (begin != nullptr && target_text(*begin) != kDefault) {
          earlier_[&call] = target_text(*begin);
        } else if (const std::string* inner = earlier_.find(arg.get());
                   inner != nullptr && annotation(arg.get(), end_) == nullptr) {
          earlier_[&call] = std::string(*inner);
        } else {
          continue;
        }
        known = earlier_.find(&call);
        break;
      }
    }
    if (known != nullptr) return *known;
    for (const std::string& target : options_.targets) {
      if (supports(target, call)) return target;
    }
    return kDefault;
  }

  bool supports(const std::string& target, const Call& call) const {
    if (const auto* function = call.callee()->as<Function>()) {
      AttrValue value = dict_attr(function->attrs(), "Composite");
      const auto* name = value.get<std::string>();
      return name != nullptr && name->rfind(target + ".", 0) == 0;
    }
    return options_.supports && options_.supports(target, ExprRef(&call));
  }

  /// That of all operands, if they have the same.
  std::string common_target(const Expr* expr) {
    std::string common;
    for (const ExprRef& operand : expr->operands()) {
      const std::string* found = targets_.find(operand.get());
      const std::string target = found == nullptr ? kDefault : *found;
      if (common.empty()) common = target;
      if (common != target) return kDefault;
    }
    return common.empty() ? kDefault : common;
  }

  ExprRef end(const Expr* old, const ExprRef& value) const {
    const std::string* target = targets_.find(old);
    return target == nullptr ? value : make_compiler_end(value, *target, old->span());
  }
  ExprRef ended(const Expr* expr, std::span<const ExprRef> operands) const {
    std::vector<ExprRef> all(operands.begin(), operands.end());
    for (size_t i = 0; i < all.size(); ++i) all[i] = end(expr->operands()[i].get(), all[i]);
    return rebuild(expr, all);
  }

  const Function* root_;
  const AnnotateTargetOptions& options_;
  const std::unordered_set<const Expr*> effectful_;
  const Operator* begin_;
  const Operator* end_;
  PointerMap<Expr, std::string> targets_;  // of nodes as they were
  PointerMap<Expr, std::string> earlier_;
};

const PassInfo& annotate_target_info() {
  static const PassInfo info{
      "AnnotateTarget",
      0,
      {ProgramState::kTyped},
      "Puts `annotation.compiler_begin` and `annotation.compiler_end` around calls that a code "
      "generator of others takes: calls of functions with `Composite=\"TARGET.…\"`, and calls of "
      "operators that it can take. The first target that can take a call gets it; other calls get "
      "the target \"default\", and calls with effects none. What an earlier run has given stays."};
  return info;
}

RELAY_REGISTER_PASS({
    annotate_target_info(),
    {{"targets", "Names of code generators.", std::vector<std::string>()},
     {"include_non_call_ops",
      "Tuples and projections belong to the code generator that their operands belong to.", true},
     {"operators", "Names of operators that the targets take.", std::vector<std::string>()}},
    [](const PassInfo&, const PassOptions& options) {
      AnnotateTargetOptions given;
      given.targets = option<std::vector<std::string>>(options, "targets");
      given.include_non_call_ops = option<bool>(options, "include_non_call_ops");
      std::vector<const Operator*> operators;
      for (const std::string& name : option<std::vector<std::string>>(options, "operators")) {
        operators.push_back(find_op(name));
        if (operators.back() == nullptr)
          throw Error("AnnotateTarget: there is no operator " + name);
      }
      given.supports = [operators](const std::string&, const ExprRef& call) {
        const auto* callee = call->as<Call>()->callee()->as<Op>();
        return std::find(operators.begin(), operators.end(), callee->op()) != operators.end();
      };
      return make_annotate_target(std::move(given));
    },
});

}  // namespace

PassRef make_annotate_target(AnnotateTargetOptions options) {
  if (options.targets.empty()) throw Error("AnnotateTarget: no target is given");
  for (const std::string& target : options.targets) {
    if (target.empty()) throw Error("AnnotateTarget: a target has a name");
  }
  auto shared = std::make_shared<const AnnotateTargetOptions>(std::move(options));
  return make_prepared_function_pass(
      annotate_target_info(), [shared](const Module& module, const PassContext&) {
        return [shared, effects = LazyEffects(module)](const FunctionRef& function) {
          if (has_open_literals(function.get()) || is_closed(*function)) return function;
          Annotator annotator(function, *shared, effects.get());
          return FunctionRef(annotator.run(function)->as<Function>());
        };
      });
}

}  // namespace relay
