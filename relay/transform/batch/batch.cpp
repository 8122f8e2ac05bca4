#include <relay/transform/batch/batch.h>

#include <algorithm>
#include <exception>

#include <relay/infer/infer.h>
#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/lane_values.h>
#include <relay/program/call_graph.h>
#include <relay/support/error.h>
#include <relay/transform/batch/lane_writer.h>
#include <relay/transform/batch/parts.h>
#include <relay/transform/expand_ops.h>
#include <relay/transform/fusion.h>
#include <relay/transform/gradient/gradient.h>
#include <relay/transform/gradient/gradient_calls.h>
#include <relay/transform/gradient/parts.h>
#include <relay/transform/literals.h>
#include <relay/transform/monomorphic.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace lanes {
namespace {

using Id = LaneFacts::Id;

/// The position of the axis of lanes in a tensor of `rank` axes for one lane.
size_t place_of(int64_t axis, size_t rank, Span span) {
  const auto all = static_cast<int64_t>(rank) + 1;
  if (axis < -all || axis >= all)
    throw Error("axis " + std::to_string(axis) + " of lanes is outside of a tensor with " +
                    std::to_string(all) + (all == 1 ? " axis" : " axes"),
                span);
  return static_cast<size_t>(axis < 0 ? axis + all : axis);
}

const LaneAxes& axes_of(const LaneAxes& axes, size_t i) {
  return axes.fields.empty() ? axes : axes.fields.at(i);
}

class Entry {
 public:
  Entry(LaneFacts& facts, LaneCode& code, Dim lanes)
      : facts_(facts), code_(code), lanes_(std::move(lanes)) {}

  /// The type of a parameter as callers have it, and its value with the axes of lanes in front.
  TypeRef given_type(const LaneAxes& axes, Id id, Span span) {
    if (facts_.is_tuple(id)) {
      std::vector<TypeRef> fields;
      for (size_t i = 0; i < facts_.num_parts(id); ++i)
        fields.push_back(given_type(axes_of(axes, i), facts_.part(id, i), span));
      return TupleType::make(std::move(fields));
    }
    if (!facts_.is_tensor(id)) {
      require_front(axes, id, span);
      return facts_.type(id);
    }
    if (!axes.axis) return facts_.lane_type(id);
    const std::span<const Dim> lane = lane_dims(facts_, id, span);
    std::vector<Dim> dims(lane.begin(), lane.end());
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(place_of(*axes.axis, lane.size(), span)),
                lanes_);
    return TensorType::make(ShapeType::make(dims),
                            facts_.lane_type(id)->as<TensorType>()->dtype_type());
  }
  ExprRef to_front(const LaneAxes& axes, Id id, const ExprRef& x, Span span) {
    return mapped(id, x, span, axes, [&](const LaneAxes& one, Id tensor, const ExprRef& value) {
      if (!one.axis) return facts_.has_lanes(tensor) ? code_.spread(value, tensor, span) : value;
      const size_t rank = lane_dims(facts_, tensor, span).size();
      return with_moved_axis(value, place_of(*one.axis, rank, span), 0, rank + 1);
    });
  }
  ExprRef from_front(const LaneAxes& axes, Id id, const ExprRef& x, Span span) {
    return mapped(id, x, span, axes, [&](const LaneAxes& one, Id tensor, const ExprRef& value) {
      if (!one.axis) {
        if (facts_.has_lanes(tensor))
          throw Error("out_axes says that all lanes share a result that differs from lane to lane",
                      span);
        return value;
      }
      const size_t rank = lane_dims(facts_, tensor, span).size();
      const ExprRef all = facts_.has_lanes(tensor) ? value : code_.spread(value, tensor, span);
      return with_moved_axis(all, 0, place_of(*one.axis, rank, span), rank + 1);
    });
  }

  /// A tensor with lanes in a value with lanes in front; null if there is none.
  ExprRef some_tensor(Id id, const ExprRef& x) {
    if (facts_.is_tensor(id)) return facts_.has_lanes(id) ? x : ExprRef();
    for (size_t i = 0; facts_.is_tuple(id) && i < facts_.num_parts(id); ++i) {
      if (ExprRef found = some_tensor(facts_.part(id, i), field_of(x, i))) return found;
    }
    return {};
  }

 private:
  using Map = std::function<ExprRef(const LaneAxes&, Id, const ExprRef&)>;

  void require_front(const LaneAxes& axes, Id id, Span span) {
    if (facts_.is_tensorial(id) || !axes.axis || *axes.axis == 0) return;
    throw Error(
        "lanes are the first axis of tensors in a value of type " + facts_.lane_type(id)->str(),
        span);
  }
  ExprRef mapped(Id id, const ExprRef& x, Span span, const LaneAxes& axes, const Map& map) {
    if (facts_.is_tensor(id)) return map(axes, id, x);
    if (!facts_.is_tuple(id)) {
      require_front(axes, id, span);
      return x;
    }
    if (!axes.fields.empty() && axes.fields.size() != facts_.num_parts(id))
      throw Error("out_axes has " + std::to_string(axes.fields.size()) +
                      " entries for a value of type " + facts_.lane_type(id)->str(),
                  span);
    std::vector<ExprRef> fields;
    bool same = true;
    for (size_t i = 0; i < facts_.num_parts(id); ++i) {
      const ExprRef field = field_of(x, i);
      fields.push_back(mapped(facts_.part(id, i), field, span, axes_of(axes, i), map));
      same = same && fields.back() == field;
    }
    return same ? x : relay::make_tuple(fields, span);
  }

  LaneFacts& facts_;
  LaneCode& code_;
  Dim lanes_;
};

ExprRef with_lets(const std::vector<std::pair<VarRef, ExprRef>>& lets, ExprRef body) {
  for (size_t i = lets.size(); i-- > 0;)
    body = make_let(lets[i].first, lets[i].second, std::move(body), body->span());
  return body;
}

}  // namespace

FunctionRef write_lanes(const Module& whole, Module& target, const Name& own, ProgramLanes& lanes,
                        const BatchForm& form, const Dim& number) {
  LaneFacts& facts = lanes.facts();
  std::unordered_map<Name, Name> names;
  const LaneGradients* gradients = lanes.gradients();
  auto is_gradient = [&](const Name& name) { return gradients != nullptr && gradients->has(name); };
  // Those first, for which all other functions of the target have to be whole.
  for (const Name& name : lanes.names()) {
    if (!is_gradient(name)) continue;
    FunctionRef made =
        gradients->written(name, target, facts.any(lanes.function(name)), lanes.masked(), number);
    names[name] = target.fresh_name(name.str() + "_vmap");
    target.add_function(names[name], std::move(made));
  }
  for (const Name& name : lanes.names()) {
    if (name == own || is_gradient(name)) continue;
    names[name] = target.fresh_name(name.str() + "_vmap");
    target.add_function(names[name], make_function({}, relay::make_tuple(std::vector<ExprRef>())));
  }
  LaneWriter writer(lanes, names, number);
  const FunctionRef entry(whole.function(own));
  VarRef mask = make_var("lanes", mask_type(number));
  writer.push_mask(mask);
  Entry edge(facts, writer.code(), number);
  std::vector<VarRef> params;
  std::vector<std::pair<VarRef, ExprRef>> lets;
  ExprRef some;
  for (size_t i = 0; i < entry->params().size(); ++i) {
    const VarRef& param = entry->params()[i];
    const Id id = lanes.of(param.get());
    const TypeRef given = edge.given_type(form.in.at(i), id, param->span());
    const VarRef inner = writer.var_of(param.get());
    if (types_equal(given, facts.type(id)) && form.in[i].fields.empty() &&
        form.in[i].axis.value_or(0) == 0) {
      params.push_back(inner);
    } else {
      params.push_back(make_var(param->name(), given, param->span()));
      lets.emplace_back(inner, edge.to_front(form.in[i], id, params.back(), param->span()));
    }
    if (!some) some = edge.some_tensor(id, inner);
  }
  const ExprRef body = writer.run(entry->body());
  const Span place = entry->body()->span().known() ? entry->body()->span() : entry->span();
  VarRef result = make_var("result", {}, place);
  const bool simple = body->is<Tuple>() || facts.is_tensor(lanes.of(entry->body().get()));
  ExprRef out = edge.from_front(form.out, lanes.of(entry->body().get()),
                                simple ? body : ExprRef(result), place);
  if (!simple) out = make_let(result, body, out, place);
  const std::vector<VarRef> free = free_vars(out.get());
  if (std::find(free.begin(), free.end(), mask) != free.end()) {
    if (!number.is_int() && !some)
      throw Error("vmap of this function needs the number of lanes: give axis_size", entry->span());
    out = make_let(mask, number.is_int() ? all_lanes(number.as_int()) : all_lanes_of(some), out);
  }
  std::vector<TypeVarRef> type_params = entry->type_params();
  if (!number.is_int()) type_params.emplace_back(number.as_symbol());
  for (const auto& [old, made] : names) {
    if (is_gradient(old)) continue;
    FunctionRef function = writer.global(*whole.function(old), old);
    if (!number.is_int()) {
      std::vector<TypeVarRef> more = function->type_params();
      more.emplace_back(number.as_symbol());
      function = make_function(function->params(), function->body(), function->ret_type(),
                               std::move(more), {}, function->attrs(), function->span());
    }
    target.update_function(made, FunctionRef(copy_with_fresh_vars(function)->as<Function>()));
  }
  return make_function(std::move(params), with_lets(lets, out), {}, std::move(type_params), {},
                       entry->attrs(), entry->span());
}

// ---- The program before it has lanes
// --------------------------------------------------------------

namespace {

// If the types of the parameters say all, functions inside have one type each, and numbers dtypes.
Module with_types(const Module& module, const Name& name) {
  std::vector<TypeRef> types;
  for (const VarRef& param : module.function(name)->params()) {
    if (param->type() == nullptr || !param->type()->closed())
      return without_polymorphic_lets(expand_gradients(resolve_literals(module)));
    types.emplace_back(param->type());
  }
  const Module special = expand_gradients(specialize(module, name, types));
  return monomorphic(without_polymorphic_lets(special), name);
}

/// The program with types again after a change of `own`.
Module typed(Module module) {
  infer_types_or_throw(module);
  return resolve_literals(module);
}

Module prepared(const FunctionRef& function, const Module& module, const Name& own,
                LaneGradients* gradients) {
  Module whole = module;
  whole.add_function(own, function);
  infer_types_or_throw(whole);
  if (gradients != nullptr) whole = gradients->named(std::move(whole), own);
  // Operators that others define have no form for lanes of their own, but where they say so.
  Expansion expansion;
  expansion.wanted = [](const Operator& op) { return lanes_form().find(&op) == nullptr; };
  expansion.everywhere = expansion.keep_annotations = true;
  constexpr int kMostRounds = 8;
  whole = with_definitions(with_types(whole, own), expansion, kMostRounds);
  const FunctionRef given(whole.function(own));
  if (!Effects(whole).any()) {
    const FunctionRef plain = grad::with_calls_inlined(given, whole);
    if (!(plain == given)) {
      whole.update_function(own, plain);
      whole = typed(std::move(whole));
    }
    const FunctionRef outer = grad::with_global_loops(FunctionRef(whole.function(own)), whole, own);
    if (!(outer.get() == whole.function(own))) whole.update_function(own, outer);
    whole = typed(std::move(whole));
  }
  // Constructors that are values become functions.
  whole = (*create_pass("EtaExpand", {{"expand_constructor", true}}))(whole);
  return typed(std::move(whole));
}

/// True if functions, effects or data are left: then every node runs in a place of its own.
bool has_places(const Function& function) {
  bool found = function.body()->contains(ExprPart::kEffect) ||
               function.body()->contains(ExprPart::kGlobal) ||
               function.body()->contains(ExprPart::kData);
  visit_each(function.body().get(), [&](const Expr* expr) {
    found = found || expr->is<Function>();
    return !found;
  });
  return found;
}

/// A call of the function in the place of one that reaches itself: the function for many lanes that
/// a recursion calls has a parameter more, the lanes that go on.
FunctionRef called_if_recursive(const FunctionRef& function, const Module& module) {
  if (!function->type_params().empty()) return function;
  for (const auto& entry : module.functions()) {
    if (entry.function.get() != function.get()) continue;
    if (!CallGraph(module).is_recursive(entry.name)) return function;
    std::vector<VarRef> params;
    for (const VarRef& param : function->params())
      params.push_back(make_var(param->name(), param->annotation(), param->span()));
    const std::vector<ExprRef> args(params.begin(), params.end());
    return make_function(params,
                         make_call(make_global_var(entry.name), args, {}, {}, function->span()),
                         function->ret_type(), {}, {}, {}, function->span());
  }
  return function;
}

/// The program in A-normal form, but with calls in tail position there: `let x = e; x` is `e`.
Module in_normal_form(const Module& module) {
  const Module normal = (*create_pass("ToANormalForm", {}))(module);
  Module whole = normal;
  for (const auto& entry : normal.functions()) {
    const ExprRef made = rewrite_post_order(
        entry.function, [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          const auto* let = expr->as<Let>();
          return let != nullptr && operands[1] == let->var() ? operands[0] : ExprRef();
        });
    whole.update_function(entry.name, FunctionRef(made->as<Function>()));
  }
  return typed(std::move(whole));
}

/// `gradients` is null if calls of `grad` are written out first.
FunctionRef batched(const FunctionRef& given, Module& module, const BatchForm& form,
                    LaneGradients* gradients) {
  const FunctionRef function = called_if_recursive(given, module);
  const Name own = module.fresh_name("batched");
  Module whole = prepared(function, module, own, gradients);
  if (has_places(*whole.function(own))) whole = in_normal_form(whole);
  const TypeVarRef name = TypeVar::make("lanes", Kind::kShapeVar);
  const Dim number = form.lanes ? Dim(*form.lanes) : Dim::symbol(name.get());
  ProgramLanes lanes(whole, module, own, form, number, gradients);
  const FunctionRef made = write_lanes(whole, module, own, lanes, form, number);
  const FunctionRef result(copy_with_fresh_vars(made)->as<Function>());
  Module all = module;
  const Name name_of_result = all.fresh_name("batched");
  all.add_function(name_of_result, result);
  infer_types_or_throw(all);
  return FunctionRef(all.function(name_of_result));
}

bool takes_gradients(const FunctionRef& function, const Module& module) {
  Module whole = module;
  const Name own = whole.fresh_name("batched");
  whole.add_function(own, function);
  for (const Name& name : functions_from(whole, own)) {
    if (has_gradient_call(whole.function(name))) return true;
  }
  return false;
}

}  // namespace
}  // namespace lanes

FunctionRef batch(const FunctionRef& function, Module& module, const BatchForm& form) {
  if (form.in.size() != function->params().size())
    throw Error("the function has " + std::to_string(function->params().size()) +
                    " parameters; in_axes has " + std::to_string(form.in.size()) + " entries",
                function->span());
  const Module before = module;  // which a failure leaves as it is
  auto attempt = [&](lanes::LaneGradients* gradients) {
    try {
      return lanes::batched(function, module, form, gradients);
    } catch (...) {
      module = before;
      throw;
    }
  };
  if (!lanes::takes_gradients(function, module)) return attempt(nullptr);
  lanes::LaneGradients gradients(form);
  if (form.keep_gradients) {
    try {
      return attempt(&gradients);
    } catch (const Error&) {
      return attempt(nullptr);
    }
  }
  try {
    return attempt(nullptr);
  } catch (const Error&) {
    // What lanes share in a gradient stays shared above. Here everything has lanes before it is
    // differentiated, which works for more functions.
    const std::exception_ptr first = std::current_exception();
    try {
      return attempt(&gradients);
    } catch (const Error&) {
      std::rethrow_exception(first);
    }
  }
}

}  // namespace relay
