#include <relay/transform/cps.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <relay/ir/result_names.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/type_fields.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/program/lets.h>
#include <relay/support/error.h>
#include <relay/transform/bind_nodes.h>
#include <relay/transform/declared_params.h>
#include <relay/transform/fusion.h>
#include <relay/transform/literals.h>

namespace relay {
namespace {

using Renamed = std::function<Name(const Name&)>;

// `fn (A) -> B` becomes `fn (A, fn (B) -> answer) -> answer`, wherever it stands in a type.
TypeRef cps_type(const TypeRef& type, const TypeRef& answer) {
  if (!type) return type;
  // As deep as types are, which is bounded.
  TypeRef inner = map_parts(
      type, [&](const TypeRef& part) { return cps_type(part, answer); },
      [](Dim dim) { return dim; });
  const auto* function = inner->as<FuncType>();
  if (function == nullptr) return inner;
  std::vector<TypeRef> params(function->params().begin(), function->params().end());
  params.push_back(FuncType::make({function->result()}, answer));
  return FuncType::make(
      std::move(params), answer,
      std::vector<TypeVarRef>(function->type_params().begin(), function->type_params().end()));
}

// Rewrites a function whose calls, branches and effects are bound by lets. Nodes are taken in the
// order in which they run; a region becomes code when its owner is met.
class CpsConverter {
 public:
  CpsConverter(const View& view, const TypeRef& answer, const Renamed& renamed,
               const Module& module)
      : view_(view),
        regions_(view.scopes().regions()),
        answer_(answer),
        renamed_(renamed),
        module_(module),
        values_(regions_.num_nodes()) {
    in_kernel_ = primitive_regions(regions_);
    continuations_.resize(regions_.num_regions());
  }

  /// The function; `result` is the type of what it returns, null if that is not known.
  FunctionRef run(const TypeRef& result, std::vector<TypeVarRef> type_params) {
    continuations_[regions_.first_region(0)] = continuation_of(result);
    choose_continuations();
    for (uint32_t id : regions_.post_order()) {
      if (id != 0) values_[id] = convert(id);
    }
    return make_cps(0, result, std::move(type_params));
  }

 private:
  // ---- What is called as it is -----------------------------------------------------------------

  // A kernel, or a variable that a let binds to one; else null.
  const Function* literal_kernel(const Expr* expr) const {
    const auto* function = expr->as<Function>();
    if (function == nullptr) function = bound_literal(view_, expr);
    return function != nullptr && is_primitive(function) ? function : nullptr;
  }
  bool is_direct(const Expr* callee) const {
    if (callee->is<Op>() || callee->is<Constructor>()) return true;
    if (literal_kernel(callee) != nullptr) return true;
    const auto* global = callee->as<GlobalVar>();
    return global != nullptr && renamed_(global->name()).empty();
  }
  bool in_kernel(uint32_t id) const { return in_kernel_[regions_.home(id)] != 0; }
  // Has no value in the new program but calls its continuation with it.
  bool gives_to_continuation(uint32_t id) const {
    if (in_kernel(id)) return false;
    switch (regions_.kind(id)) {
      case ExprKind::kIf:
      case ExprKind::kMatch:
        return true;
      case ExprKind::kCall:
        return !is_direct(static_cast<const Call*>(regions_.expr(id))->callee().get());
      default:
        return false;
    }
  }

  // ---- Continuations ---------------------------------------------------------------------------

  // A function body has a parameter for it. A branch has that of the `if`: the region's own where
  // nothing follows, else a variable to which the rest is bound.
  void choose_continuations() {
    for (uint32_t region = 0; region < regions_.num_regions(); ++region) {
      const uint32_t owner = regions_.region(region).owner;
      if (owner == Regions::kNone || continuations_[region]) continue;
      if (const auto* function = regions_.expr(owner)->as<Function>()) {
        continuations_[region] = continuation_of(result_of(*function));
        continue;
      }
      VarRef& join = joins_[owner];
      if (!join)
        join = is_last(owner) ? continuations_[regions_.home(owner)] : VarRef(make_var("join"));
      continuations_[region] = join;
    }
  }
  // The type that a function inside returned: as declared, else as inferred where no type variables
  // but the answer are in it. Then all functions inside have the one answer; open types are
  // inferred anew.
  TypeRef result_of(const Function& function) const {
    if (function.ret_type()) return function.ret_type();
    const auto* type = function.type() == nullptr ? nullptr : function.type()->as<FuncType>();
    if (type == nullptr || type->params().empty()) return {};
    const auto* continuation = type->params().back()->as<FuncType>();
    if (continuation == nullptr || continuation->has_incomplete()) return {};
    TypeRef result = continuation->params()[0];
    for (const TypeVarRef& var : free_type_vars(result)) {
      if (var.get() != answer_.get()) return {};
    }
    return result;
  }
  VarRef continuation_of(const TypeRef& result) const {
    return make_var("k", result ? FuncType::make({result}, answer_) : TypeRef());
  }
  // True if nothing but the region's value follows the node.
  bool is_last(uint32_t id) const {
    auto steps = regions_.steps(regions_.home(id));
    for (size_t i = steps.size(); i-- > 0;) {
      const Regions::Step step = steps[i];
      if (!step.bind) {
        // Lets are the chain around the steps before them.
        if (regions_.kind(step.node) == ExprKind::kLet) continue;
        return false;
      }
      const auto* let = static_cast<const Let*>(regions_.expr(step.node));
      return regions_.operand(step.node, 0) == id &&
             regions_.result(regions_.home(id)).expr == let->var().get() &&
             !let->var()->annotation();
    }
    return false;
  }

  // ---- Nodes -----------------------------------------------------------------------------------

  ExprRef convert(uint32_t id) {
    const Expr* expr = regions_.expr(id);
    if (in_kernel(id)) return ExprRef(expr);
    if (expr->is<Let>() || gives_to_continuation(id)) return {};
    if (const auto* function = expr->as<Function>()) {
      if (is_primitive(function)) return ExprRef(expr);
      return make_cps(id, result_of(*function), function->type_params());
    }
    std::vector<ExprRef> operands;
    for (size_t i = 0; i < expr->operands().size(); ++i) {
      const bool callee = i == 0 && expr->is<Call>();
      operands.push_back(callee ? expr->operands()[0] : atom(id, i));
    }
    return rebuild(expr, operands);
  }

  // The expression that stands for an operand that is a value.
  ExprRef atom(uint32_t id, size_t i) {
    const uint32_t node = regions_.operand(id, i);
    return value(node, regions_.expr(id)->operands()[i]);
  }
  ExprRef value(uint32_t node, const ExprRef& expr) {
    const Expr* at = node == Regions::kNone ? expr.get() : regions_.expr(node);
    if (const Function* kernel = kernel_of(at))
      return as_function(node == Regions::kNone ? expr : values_[node], kernel->params().size());
    if (node != Regions::kNone) {
      RELAY_CHECK(values_[node] != nullptr, "a value that no let binds");
      return values_[node];
    }
    if (expr->is<Var>()) return expr;
    if (const auto* global = expr->as<GlobalVar>()) {
      Name name = renamed_(global->name());
      return name.empty() ? expr : make_global_var(name, expr->span());
    }
    return name_as_function(expr);
  }
  // A function that is called as it is, or null.
  const Function* kernel_of(const Expr* expr) const {
    if (const Function* function = literal_kernel(expr)) return function;
    const auto* global = expr->as<GlobalVar>();
    const bool direct = global != nullptr && renamed_(global->name()).empty();
    return direct ? module_.function(global->name()) : nullptr;
  }
  // A constructor or operator as a value takes a continuation, too.
  static ExprRef name_as_function(const ExprRef& name) {
    const auto* constructor = name->as<Constructor>();
    const size_t inputs =
        constructor != nullptr ? constructor->inputs().size() : name->as<Op>()->op()->num_inputs();
    return inputs == 0 ? name : as_function(name, inputs);
  }
  static ExprRef as_function(const ExprRef& name, size_t inputs) {
    std::vector<VarRef> params;
    std::vector<ExprRef> args;
    for (size_t i = 0; i < inputs; ++i) {
      params.push_back(make_var("p" + std::to_string(i)));
      args.push_back(params.back());
    }
    params.push_back(make_var("k"));
    VarRef value = make_var("value");
    const ExprRef result[] = {value};
    ExprRef body = make_let(value, make_call(name, args), make_call(params.back(), result));
    return make_function(std::move(params), std::move(body));
  }

  // ---- Functions and regions -------------------------------------------------------------------

  // Without arguments a relation is about all parameters and the result.
  static std::vector<RelationTypeRef> constraints_of(const Function& function) {
    std::vector<RelationTypeRef> stated = function.constraints();
    std::erase_if(stated, [](const RelationTypeRef& relation) { return relation->args().empty(); });
    return stated;
  }

  FunctionRef make_cps(uint32_t id, const TypeRef& result, std::vector<TypeVarRef> type_params) {
    const auto& function = static_cast<const Function&>(*regions_.expr(id));
    const uint32_t region = regions_.first_region(id);
    std::vector<VarRef> params = function.params();
    params.push_back(continuations_[region]);
    return make_function(std::move(params), make_region(region), result ? answer_ : TypeRef(),
                         std::move(type_params), constraints_of(function),
                         without_result_names(function.attrs()), function.span());
  }

  // The code of a region: what its steps bind, from the last to the first, around the call of the
  // continuation.
  ExprRef make_region(uint32_t region) {
    const Regions::Result result = regions_.result(region);
    ExprRef code;
    auto steps = regions_.steps(region);
    const VarRef& continuation = continuations_[region];
    for (size_t i = steps.size(); i-- > 0;) {
      if (!steps[i].bind) continue;
      const auto* let = static_cast<const Let*>(regions_.expr(steps[i].node));
      const uint32_t node = regions_.operand(steps[i].node, 0);
      const bool gives = node != Regions::kNone && gives_to_continuation(node);
      if (!code && gives && is_last(node)) {
        code = transfer(node, continuation, false);
        continue;
      }
      if (!code) code = give(continuation, value(result.node, ExprRef(result.expr)));
      if (!gives) {
        const bool kernel = node != Regions::kNone && kernel_of(regions_.expr(node)) != nullptr;
        code = make_let(let->var(), kernel ? values_[node] : value(node, let->value()),
                        std::move(code), let->span());
        continue;
      }
      TypeRef answer = answer_->is<TypeVar>() ? answer_ : TypeRef();
      ExprRef rest = make_function({let->var()}, std::move(code), answer, {}, {}, {}, let->span());
      code = transfer(node, std::move(rest), true);
    }
    if (!code) code = give(continuation, value(result.node, ExprRef(result.expr)));
    return code;
  }
  static ExprRef give(const VarRef& continuation, ExprRef value) {
    const ExprRef args[] = {std::move(value)};
    return make_call(continuation, args);
  }

  // A call, `if` or `match` that gives its value to `rest`.
  ExprRef transfer(uint32_t id, ExprRef rest, bool bound) {
    const Expr* expr = regions_.expr(id);
    if (const auto* call = expr->as<Call>()) {
      std::vector<ExprRef> args;
      for (size_t i = 1; i < call->operands().size(); ++i) args.push_back(atom(id, i));
      args.push_back(std::move(rest));
      return make_call(atom(id, 0), args, {}, {}, call->span());
    }
    std::vector<ExprRef> operands{atom(id, 0)};
    for (size_t i = 1; i < expr->operands().size(); ++i)
      operands.push_back(make_region(regions_.region_of(id, i)));
    ExprRef branches = rebuild(expr, operands);
    return bound ? make_let(joins_[id], std::move(rest), std::move(branches), expr->span())
                 : branches;
  }

  const View& view_;
  const Regions& regions_;
  const TypeRef& answer_;
  const Renamed& renamed_;
  const Module& module_;
  std::vector<char> in_kernel_;
  std::vector<ExprRef> values_;                 // of nodes that have one
  std::vector<VarRef> continuations_;           // of regions
  std::unordered_map<uint32_t, VarRef> joins_;  // of nodes with branches
};

}  // namespace

FunctionRef before_cps(const Program& program, const FunctionRef& function) {
  const View& view = program.view(without_waiting_nodes(program, function));
  const Regions& regions = view.scopes().regions();
  std::vector<char> in_kernel = primitive_regions(regions);
  return bind_nodes(view, [&](uint32_t node) {
    if (in_kernel[regions.home(node)] != 0) return false;
    switch (regions.kind(node)) {
      case ExprKind::kCall:
      case ExprKind::kIf:
      case ExprKind::kMatch:
      case ExprKind::kRefCreate:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite:
        return true;
      default:
        return false;
    }
  });
}

FunctionRef to_cps(const FunctionRef& given, const Renamed& renamed, const Module& module) {
  // Functions that call each other need not have one answer then.
  FunctionRef function = with_declared_params(given);
  TypeRef result = function->ret_type();
  const auto* type = given->type() == nullptr ? nullptr : given->type()->as<FuncType>();
  if (!result && type != nullptr && is_declarable(type->result().get(), *given))
    result = TypeRef(type->result());
  bool declared = static_cast<bool>(result);
  for (const VarRef& param : function->params()) declared = declared && param->annotation();
  // Without a declared signature nothing is declared: all is inferred together with its callers.
  std::vector<TypeVarRef> type_params = function->type_params();
  TypeRef answer = IncompleteType::hole();
  if (declared) {
    type_params.push_back(TypeVar::make("answer", Kind::kType));
    answer = type_params.back();
  }
  auto converted = [&](const TypeRef& old) { return cps_type(old, answer); };
  // The types of the copy say what they become.
  const View view(copy_nodes(function, converted));
  FunctionRef made = CpsConverter(view, answer, renamed, module)
                         .run(result ? converted(result) : result, type_params);
  return FunctionRef(copy_nodes(made)->as<Function>());
}

}  // namespace relay
