#include <relay/transform/batch/lane_gradients.h>

#include <map>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/support/error.h>
#include <relay/transform/batch/lane_writer.h>
#include <relay/transform/batch/parts.h>
#include <relay/transform/gradient/gradient_calls.h>
#include <relay/transform/gradient/leaves.h>
#include <relay/transform/lets.h>

namespace relay::lanes {
namespace {

constexpr int kMaxDepth = 4;  // of gradients in functions of gradients

/// A mark that keeps a function from being put in place of its calls.
AttrsRef mark() { return make_dict_attrs({{Name("LaneGradient"), AttrValue(int64_t{1})}}); }

void require_tensors(const Type* type, Span span) {
  if (type != nullptr && type->closed() && grad::is_static(type)) return;
  throw Error("a gradient for many lanes is of a function of tensors of known extents" +
                  (type == nullptr ? std::string() : ", and here is " + type->str()),
              span);
}

}  // namespace

class LaneGradients::Writer final : public Rewriter {
 public:
  Writer(LaneGradients& all, Module& whole) : all_(all), whole_(whole) {}

 private:
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef>) override {
    const auto* let = expr->as<Let>();
    if (let == nullptr || operand != 1) return;
    const ExprRef& value = let->value();
    if (value->is<GlobalVar>() || value->is<Function>() || value->is<Var>())
      known_[let->var().get()] = value;
  }

  ExprRef enter(const Expr* expr) override {
    const std::optional<GradientCallForm> form = gradient_call(expr);
    if (!form) return {};
    const ExprRef source = gradient_source(expr, expr->operands()[1], known_);
    const auto* type = expr->type()->as<FuncType>();
    RELAY_CHECK(type != nullptr, "a gradient is no function");
    const FunctionRef own = source->is<Function>()
                                ? FunctionRef(source->as<Function>())
                                : called(source, *source->type()->as<FuncType>(), expr->span());
    const ClosedFunction closed = closed_function(own);
    const GradientForm wanted = gradient_form(*form, own->params().size(), closed.captured.size());
    const Name name = all_.add(whole_, {closed.function, TypeRef(own->body()->type()), wanted},
                               closed.captured, *type);
    return closed.with_captured(name, own, *form, expr->span());
  }

  /// A function that calls another one, with types that say all.
  static FunctionRef called(const ExprRef& source, const FuncType& type, Span span) {
    std::vector<VarRef> params;
    for (const TypeRef& param : type.params()) params.push_back(make_var("x", param, span));
    const std::vector<ExprRef> args(params.begin(), params.end());
    const ExprRef call = make_call(source, args, {}, {}, span);
    call->set_type(type.result());
    return make_function(params, call, {}, {}, {}, {}, span);
  }

  LaneGradients& all_;
  Module& whole_;
  std::unordered_map<const Var*, ExprRef> known_;
};

Name LaneGradients::add(Module& whole, Entry entry, const std::vector<VarRef>& captured,
                        const FuncType& type) {
  const Span span = entry.function->span();
  std::vector<VarRef> params;
  for (const VarRef& var : captured) params.push_back(make_var(var->name(), TypeRef(var->type())));
  for (const TypeRef& param : type.params()) params.push_back(make_var("x", param, span));
  for (const VarRef& param : params) require_tensors(param->annotation().get(), span);
  require_tensors(entry.result.get(), span);
  require_tensors(type.result().get(), span);
  const Name name = whole.fresh_name("lane_gradient");
  whole.add_function(name, make_function(params, grad::zeros_of_type(type.result().get()),
                                         type.result(), {}, {}, mark(), span));
  entries_[name] = std::move(entry);
  return name;
}

Module LaneGradients::named(Module whole, const Name& own) {
  if (depth_ == kMaxDepth)
    throw Error("gradients for many lanes are nested deeper than " + std::to_string(kMaxDepth),
                whole.function(own)->span());
  for (const Name& name : functions_from(whole, own)) {
    const FunctionRef function(whole.function(name));
    if (!has_gradient_call(function.get())) continue;
    const ExprRef written = Writer(*this, whole).run(function);
    whole.update_function(name, without_dead_lets(FunctionRef(written->as<Function>())));
  }
  infer_types_or_throw(whole);
  return whole;
}

/// The function after one parameter more: a bool, without which it is zeros and computes nothing.
FunctionRef LaneGradients::guarded(const Entry& entry) const {
  const FunctionRef inner(copy_with_fresh_vars(entry.function)->as<Function>());
  VarRef wanted = make_var("wanted", TensorType::scalar(kBool));
  std::vector<VarRef> params{wanted};
  params.insert(params.end(), inner->params().begin(), inner->params().end());
  return make_function(params,
                       make_if(wanted, inner->body(), grad::zeros_of_type(entry.result.get())), {},
                       {}, {}, inner->attrs(), inner->span());
}

FunctionRef LaneGradients::derived(const FunctionRef& function, const GradientForm& form,
                                   Module& module) const {
  if (!keep_ || !form.from_result)
    return gradient(function, module, GradientMode::kHigherOrder, form);
  AttrValue::List places;
  for (size_t place : *form.params) places.emplace_back(static_cast<int64_t>(place));
  GradientCallForm call{{}, true, true};
  call.attrs.argnums = form.single ? places[0] : AttrValue(std::move(places));
  const FunctionRef inner(copy_with_fresh_vars(function)->as<Function>());
  std::vector<VarRef> params;
  for (const VarRef& param : function->params())
    params.push_back(make_var(param->name(), TypeRef(param->type())));
  params.push_back(make_var("g", TypeRef(function->body()->type())));
  const std::vector<ExprRef> args(params.begin(), params.end());
  const ExprRef callee = make_gradient_call(inner, call);
  return make_function(params, make_call(callee, args), {}, {}, {}, {}, function->span());
}

FunctionRef LaneGradients::written(const Name& name, Module& module, bool has_lanes, bool masked,
                                   const Dim& lanes) const {
  const Entry& entry = entries_.at(name);
  GradientForm form = entry.form;
  if (!has_lanes) {
    const FunctionRef found = derived(entry.function, form, module);
    if (!masked) return found;
    std::vector<VarRef> params{make_var("lanes", mask_type(lanes))};
    params.insert(params.end(), found->params().begin(), found->params().end());
    return make_function(params, found->body(), {}, {}, {}, found->attrs(), found->span());
  }
  if (!lanes.is_int())
    throw Error("gradients for many lanes need the number of lanes: give axis_size",
                entry.function->span());
  const FunctionRef one = masked ? guarded(entry) : entry.function;
  BatchForm all;
  all.in.resize(one->params().size());
  all.lanes = lanes.as_int();
  all.keep_gradients = keep_;
  all.depth = depth_ + 1;
  const FunctionRef many = batch(one, module, all);
  form.of_number = false;
  for (size_t& place : *form.params) place += masked ? 1 : 0;
  return derived(many, form, module);
}

}  // namespace relay::lanes
