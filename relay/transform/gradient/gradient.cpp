#include <relay/transform/gradient/gradient.h>

#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/type_fields.h>
#include <relay/op/registry/gradient.h>
#include <relay/program/call_graph.h>
#include <relay/support/error.h>
#include <relay/transform/expand_ops.h>
#include <relay/transform/gradient/forward.h>
#include <relay/transform/gradient/leaves.h>
#include <relay/transform/gradient/parts.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>

namespace relay {
namespace grad {

std::vector<bool> chosen_params(const Function& function, const GradientForm& form) {
  std::vector<bool> chosen(function.params().size(), !form.params);
  if (!form.params) return chosen;
  for (size_t i : *form.params) {
    if (i >= chosen.size())
      throw Error("there is no parameter " + std::to_string(i) + ": the function has " +
                      std::to_string(chosen.size()),
                  function.span());
    chosen[i] = true;
  }
  return chosen;
}

ExprRef result_in_form(const GradientForm& form, ExprRef value, std::vector<ExprRef> gradients) {
  // In the order in which they were asked for.
  if (form.params) {
    std::vector<size_t> sorted = *form.params;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    std::vector<ExprRef> ordered;
    for (size_t i : *form.params) {
      auto place = std::lower_bound(sorted.begin(), sorted.end(), i) - sorted.begin();
      ordered.push_back(gradients[static_cast<size_t>(place)]);
    }
    gradients = std::move(ordered);
  }
  ExprRef all = form.single ? gradients.at(0) : make_tuple(gradients);
  if (!form.with_value) return all;
  return make_tuple(std::vector<ExprRef>{std::move(value), std::move(all)});
}

namespace {

bool has_floats(const Type* type) {
  if (is_leaf(type) || type->is<TypeCall>()) return true;
  bool found = false;
  for_each_part(*type, [&](const Type* part) { found = found || has_floats(part); });
  return found;
}

}  // namespace

void require_float_result(const Function& function, const GradientForm& form) {
  const Type* type = function.body()->type();
  if (type == nullptr) return;
  const Span span = function.body()->span().known() ? function.body()->span() : function.span();
  if (form.of_number) {
    const auto* tensor = type->as<TensorType>();
    const bool number = is_leaf(type) && tensor->has_rank() && tensor->dims().empty();
    if (!number)
      throw Error(Diagnostic::error("a gradient is of a function that gives one number of a "
                                    "floating-point dtype; this one gives " +
                                        type->str(),
                                    span)
                      .help("vjp takes any result, and jacobian a tensor"));
    return;
  }
  if (!has_floats(type))
    throw Error("the function has no gradient: its result, " + type->str() + ", is no float", span);
}

namespace {

// If the types of the parameters say all, functions inside get types, too, and numbers dtypes.
Module with_known_types(const Module& module, const Name& name) {
  std::vector<TypeRef> types;
  for (const VarRef& param : module.function(name)->params()) {
    // A function that is not reached may take the gradient that is being written, and writing the
    // gradients that it takes would have no end.
    if (param->type() == nullptr || !param->type()->closed())
      return expand_gradients(resolve_literals(reached_part(module, {name})));
    types.emplace_back(param->type());
  }
  return expand_gradients(specialize(module, name, types));
}

// With variables of its own, so that it may stand beside the old function. Operators refuse a
// gradient here, where the call is known.
FunctionRef typed_in(const Module& module, const FunctionRef& gradient) {
  const FunctionRef function(copy_with_fresh_vars(gradient)->as<Function>());
  Module whole = module;
  const Name own = whole.fresh_name("gradient");
  whole.add_function(own, function);
  infer_types_or_throw(whole);
  return FunctionRef(whole.function(own));
}

// A module with the function, which is `own`, typed, with operators defined by others.
Module with_function(const FunctionRef& function, const Module& module, Name& own) {
  Module whole = module;
  own = whole.fresh_name("differentiated");
  whole.add_function(own, function);
  infer_types_or_throw(whole);
  // Operators with a gradient of their own stay.
  Expansion expansion;
  expansion.wanted = [](const Operator& op) { return gradient_column().find(&op) == nullptr; };
  expansion.keep_annotations = true;
  return with_definitions(with_known_types(whole, own), expansion);
}

// The function `own` of a module without effects, with the calls that can be inlined put in place.
FunctionRef inlined(const Module& whole, const Name& own) {
  const FunctionRef typed(whole.function(own));
  FunctionRef plain = with_calls_inlined(typed, whole);
  if (plain == typed) return plain;
  Module again = whole;
  again.update_function(own, plain);
  infer_types_or_throw(again);
  return FunctionRef(resolve_literals(again).function(own));
}

}  // namespace
}  // namespace grad

FunctionRef gradient_along(const FunctionRef& function, Module& module,
                           std::span<const size_t> places) {
  Name own;
  Module whole = grad::with_function(function, module, own);
  GradientForm form;
  form.params.emplace(places.begin(), places.end());
  grad::chosen_params(*whole.function(own), form);
  grad::require_float_result(*whole.function(own), form);
  if (Effects(whole).any()) return {};
  const FunctionRef plain = grad::inlined(whole, own);
  whole.update_function(own, plain);
  const FunctionRef outer = grad::with_global_loops(plain, whole, own);
  const FunctionRef found = grad::Forward(whole, module).along(outer, places);
  return found ? grad::typed_in(module, found) : found;
}

FunctionRef gradient(const FunctionRef& function, Module& module, GradientMode mode,
                     const GradientForm& form) {
  Name own;
  Module whole = grad::with_function(function, module, own);
  const FunctionRef typed(whole.function(own));
  grad::chosen_params(*typed, form);  // refuses positions that are none
  grad::require_float_result(*typed, form);
  const FunctionRef plain = Effects(whole).any() ? typed : grad::inlined(whole, own);
  const Expr* cause = grad::not_dataflow(*plain);
  if (cause == nullptr) return grad::typed_in(module, grad::dataflow_gradient(*plain, form));
  if (mode != GradientMode::kFirstOrder && !Effects(whole).any()) {
    Module with_loops = whole;
    with_loops.update_function(own, plain);
    const FunctionRef outer = grad::with_global_loops(plain, with_loops, own);
    if (const FunctionRef found = grad::loop_gradient(with_loops, outer, module, form))
      return grad::typed_in(module, found);
  }
  if (mode == GradientMode::kFirstOrder) {
    throw Error(Diagnostic::error("a gradient of first order is of a function of operators, tuples "
                                  "and branches whose extents are known",
                                  cause->span())
                    .help("mode higher_order takes any function"));
  }
  // Constructors that are values become functions, which have gradients.
  whole = (*create_pass("EtaExpand", {{"expand_constructor", true}}))(whole);
  infer_types_or_throw(whole);
  const FunctionRef lifted = grad::lifted_gradient(whole, own, module, form);
  return grad::typed_in(module, lifted);
}

}  // namespace relay
