#include <relay/transform/gradient/forward.h>

#include <algorithm>

#include <relay/ir/result_names.h>
#include <relay/ir/rewrite.h>
#include <relay/transform/gradient/tangent.h>
#include <relay/transform/op_calls.h>

namespace relay::grad {
namespace {

bool has_static_types(const Function& function) {
  if (!function.type_params().empty() || is_marked(function.attrs())) return false;
  for (const VarRef& param : function.params()) {
    if (!is_static(param->type())) return false;
  }
  return is_static(function.body()->type());
}

std::vector<TypeRef> leaf_types(const Type* type) {
  std::vector<TypeRef> types;
  std::vector<const Type*> work{type};
  while (!work.empty()) {
    const Type* at = work.back();
    work.pop_back();
    if (const auto* tuple = at->as<TupleType>()) {
      for (size_t i = tuple->fields().size(); i-- > 0;) work.push_back(tuple->fields()[i].get());
    } else if (is_leaf(at)) {
      types.emplace_back(at);
    }
  }
  return types;
}

TypeRef pair_type(const Type* type) {
  return TupleType::make({TypeRef(type), TupleType::make(leaf_types(type))});
}

}  // namespace

/// The values and tangents of the nodes of one function. Lets disappear: their variables are their
/// values.
class Forward::Body {
 public:
  Body(Forward& all, const Function& function) : all_(all), function_(function) {}
  void set(const VarRef& param, Leaves tangent) { duals_[param.get()] = {param, tangent, {}}; }
  /// False for nodes that have no such form.
  bool run() {
    struct Frame {
      const Expr* expr;
      size_t next;
    };
    std::vector<Frame> stack{{function_.body().get(), 0}};
    while (!stack.empty()) {
      const auto [expr, next] = stack.back();
      if (duals_.count(expr) > 0) {
        stack.pop_back();
        continue;
      }
      const auto operands = expr->operands();
      const auto* let = expr->as<Let>();
      if (let != nullptr && next == 1) {
        if (let->value()->is<Function>()) return false;
        duals_[let->var().get()] = duals_.at(operands[0].get());
      }
      if (next < operands.size()) {
        ++stack.back().next;
        const bool is_callee = next == 0 && expr->is<Call>();
        if (!is_callee) stack.push_back({operands[next].get(), 0});
        continue;
      }
      Dual made;
      if (!make(expr, made)) return false;
      duals_[expr] = std::move(made);
      stack.pop_back();
    }
    return true;
  }
  const Dual& result() const { return duals_.at(function_.body().get()); }
  ExprRef pair(const Type* type, const Dual& dual) const {
    if (dual.whole) return dual.whole;
    Leaves leaves;
    const std::vector<TypeRef> types = leaf_types(type);
    for (size_t k = 0; k < types.size(); ++k) {
      const bool known = k < dual.tangent.size() && dual.tangent[k];
      leaves.push_back(known ? dual.tangent[k] : zeros_of_type(types[k].get()));
    }
    return make_tuple(std::vector<ExprRef>{dual.value, make_tuple(leaves)});
  }

 private:
  const Dual& of(const ExprRef& expr) const { return duals_.at(expr.get()); }
  uint32_t count(const Expr* expr) { return all_.leaf_table_.count(expr->type()); }

  bool make(const Expr* expr, Dual& made) {
    switch (expr->kind()) {
      case ExprKind::kConstant:
        made.value = ExprRef(expr);
        return is_static(expr->type());
      case ExprKind::kLet:
        made = of(expr->operands()[1]);
        return true;
      case ExprKind::kTuple:
        made = of_tuple(expr);
        return true;
      case ExprKind::kTupleGetItem:
        made = of_projection(static_cast<const TupleGetItem&>(*expr));
        return true;
      case ExprKind::kIf:
        if (!is_static(expr->type())) return false;
        made = of_if(expr);
        return true;
      case ExprKind::kCall:
        return called_op(expr) != nullptr ? of_operator(static_cast<const Call&>(*expr), made)
                                          : of_call(static_cast<const Call&>(*expr), made);
      default:
        return false;  // variables of others, closures, data, references
    }
  }

  Dual of_tuple(const Expr* expr) {
    Dual made;
    std::vector<ExprRef> fields;
    bool any = false;
    for (const ExprRef& field : expr->operands()) {
      const Dual& dual = of(field);
      fields.push_back(dual.value);
      Leaves leaves = dual.tangent;
      any = any || !leaves.empty();
      leaves.resize(count(field.get()));
      made.tangent.insert(made.tangent.end(), leaves.begin(), leaves.end());
    }
    if (!any) made.tangent.clear();
    made.value = rebuild(expr, fields);
    return made;
  }

  Dual of_projection(const TupleGetItem& expr) {
    const Dual& tuple = of(expr.operands()[0]);
    Dual made;
    made.value = field_of(tuple.value, expr.index());
    if (tuple.tangent.empty()) return made;
    const auto& type = *expr.operands()[0]->type()->as<TupleType>();
    const uint32_t first = all_.leaf_table_.offset(type, expr.index());
    const auto begin = tuple.tangent.begin() + first;
    made.tangent.assign(begin, begin + count(&expr));
    const bool none = std::all_of(made.tangent.begin(), made.tangent.end(),
                                  [](const ExprRef& leaf) { return !leaf; });
    if (none) made.tangent.clear();
    return made;
  }

  Dual of_if(const Expr* expr) {
    const auto operands = expr->operands();
    const ExprRef condition = of(operands[0]).value;
    const Dual &first = of(operands[1]), &second = of(operands[2]);
    if (first.tangent.empty() && second.tangent.empty())
      return {make_if(condition, first.value, second.value, expr->span()), {}, {}};
    return split(expr, make_if(condition, pair(expr->type(), first), pair(expr->type(), second),
                               expr->span()));
  }

  /// From the pair of a value and its tangents.
  Dual split(const Expr* expr, const ExprRef& whole) {
    Dual made{make_projection(whole, 0, expr->span()), {}, whole};
    const ExprRef tangents = make_projection(whole, 1, expr->span());
    for (uint32_t k = 0; k < count(expr); ++k)
      made.tangent.push_back(make_projection(tangents, k, expr->span()));
    return made;
  }

  void arguments(const Call& call, std::vector<ExprRef>& values, std::vector<Leaves>& tangents) {
    for (const ExprRef& arg : call.args()) {
      values.push_back(of(arg).value);
      tangents.push_back(of(arg).tangent);
    }
  }

  bool of_operator(const Call& call, Dual& made) {
    if (!called_op(&call)->pure() || !is_tensorial(call.type())) return false;
    std::vector<ExprRef> values{call.callee()};
    std::vector<Leaves> tangents;
    arguments(call, values, tangents);
    made.value = rebuild(&call, values);
    const bool any = std::any_of(tangents.begin(), tangents.end(),
                                 [](const Leaves& leaves) { return !leaves.empty(); });
    if (!any) return true;
    if (!is_static(call.type())) return false;
    const std::span<const ExprRef> args = std::span<const ExprRef>(values).subspan(1);
    made.tangent = tangent_of({call, args, made.value, tangents});
    return true;
  }

  bool of_call(const Call& call, Dual& made) {
    const auto* global = call.callee()->as<GlobalVar>();
    Callee* callee = global == nullptr ? nullptr : all_.callee(global->name());
    if (callee == nullptr) return false;
    std::vector<ExprRef> args;
    std::vector<Leaves> tangents;
    arguments(call, args, tangents);
    std::vector<ExprRef> along;
    size_t at = 0;
    for (size_t i = 0; i < tangents.size(); ++i) {
      const std::vector<TypeRef> types = leaf_types(call.args()[i]->type());
      for (size_t k = 0; k < types.size(); ++k, ++at) {
        const bool known = k < tangents[i].size() && tangents[i][k];
        if (known && !callee->active[at]) {
          callee->active[at] = true;
          all_.grown_ = true;
        }
        if (callee->active[at])
          along.push_back(known ? tangents[i][k] : zeros_of_type(types[k].get()));
      }
    }
    args.insert(args.end(), along.begin(), along.end());
    made = split(&call, make_call(make_global_var(callee->name), args, {}, {}, call.span()));
    if (along.empty()) made.tangent.clear();
    return true;
  }

  Forward& all_;
  const Function& function_;
  std::unordered_map<const Expr*, Dual> duals_;
};

Forward::Callee* Forward::callee(const Name& name) {
  const Function* function = whole_.function(name);
  if (function == nullptr || !has_static_types(*function)) return nullptr;
  auto [entry, fresh] = callees_.try_emplace(name);
  if (fresh) {
    entry->second.name = target_.fresh_name(name.str() + "_along");
    target_.add_function(entry->second.name, FunctionRef(function));  // takes the name
    size_t leaves = 0;
    for (const VarRef& param : function->params()) leaves += leaf_table_.count(param->type());
    entry->second.active.assign(leaves, false);
    order_.push_back(name);
  }
  return &entry->second;
}

// Callees that are met are appended to the list.
bool Forward::write_callees() {
  for (size_t n = 0; n < order_.size(); ++n) {
    const FunctionRef function(whole_.function(order_[n]));
    Body body(*this, *function);
    std::vector<VarRef> params = function->params(), along;
    size_t at = 0;
    for (const VarRef& param : params) {
      Leaves tangent;
      bool any = false;
      for (const TypeRef& type : leaf_types(param->type())) {
        const bool active = callees_.at(order_[n]).active[at++];
        if (active) along.push_back(make_var("d" + param->name().str(), type));
        tangent.push_back(active ? ExprRef(along.back()) : ExprRef());
        any = any || active;
      }
      body.set(param, any ? tangent : Leaves());
    }
    if (!body.run()) return false;
    params.insert(params.end(), along.begin(), along.end());
    const Type* type = function->body()->type();
    callees_.at(order_[n]).made = make_function(std::move(params), body.pair(type, body.result()),
                                                pair_type(type), {}, {}, {}, function->span());
  }
  return true;
}

FunctionRef Forward::along(const FunctionRef& function, std::span<const size_t> places) {
  if (!has_static_types(*function)) return {};
  const Module before = target_;
  // A parameter that is found to have directions may give others directions.
  for (;;) {
    grown_ = false;
    Body body(*this, *function);
    std::vector<VarRef> params = function->params(), along;
    std::vector<Leaves> tangents(params.size());
    for (const size_t i : places) {
      along.push_back(make_var("d" + params[i]->name().str(), TypeRef(params[i]->type())));
      for_each_tensor(params[i]->type(), along.back(),
                      [&](const Type* tensor, const ExprRef& leaf) {
                        if (is_leaf(tensor)) tangents[i].push_back(leaf);
                      });
    }
    for (size_t i = 0; i < params.size(); ++i) body.set(params[i], tangents[i]);
    if (!body.run() || !write_callees()) {
      target_ = before;
      return {};
    }
    if (grown_) continue;
    params.insert(params.end(), along.begin(), along.end());
    for (const Name& name : order_) {
      const Callee& callee = callees_.at(name);
      target_.update_function(callee.name,
                              FunctionRef(copy_with_fresh_vars(callee.made)->as<Function>()));
    }
    const Dual& result = body.result();
    const Type* type = function->body()->type();
    return make_function(std::move(params),
                         make_tuple(std::vector<ExprRef>{
                             result.value, from_leaves(type, result.value, result.tangent)}),
                         {}, {}, {}, {}, function->span());
  }
}

}  // namespace relay::grad
