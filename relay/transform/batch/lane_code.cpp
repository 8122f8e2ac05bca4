#include <relay/transform/batch/lane_code.h>

#include <algorithm>

#include <relay/ir/rewrite.h>
#include <relay/op/registry/batch.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/gradient_values.h>
#include <relay/op/registry/lane_values.h>
#include <relay/support/error.h>

namespace relay::lanes {

ExprRef field_of(const ExprRef& tuple, size_t i) {
  if (const auto* written = tuple->as<Tuple>()) return written->fields()[i];
  return make_projection(tuple, static_cast<uint32_t>(i), tuple->span());
}

std::span<const Dim> lane_dims(const LaneFacts& facts, LaneFacts::Id id, Span span) {
  const auto* tensor = facts.lane_type(id)->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank())
    throw Error("vmap needs the rank of this value, whose type is " + facts.lane_type(id)->str(),
                span);
  return tensor->dims();
}

ExprRef LaneCode::spread(const ExprRef& x, LaneFacts::Id id, Span span) {
  const std::span<const Dim> dims = lane_dims(facts_, id, span);
  bool known = lanes_.is_int();
  for (const Dim& dim : dims) known = known && dim.is_int();
  if (known) return for_each_lane(x, lanes_.as_int(), dims, span);
  return with_name(with_axes(x, 0, 1),
                   [&](const ExprRef& one) { return for_lanes_of(mask_(), one, span); });
}

ExprRef LaneCode::with_name(const ExprRef& x, const std::function<ExprRef(const ExprRef&)>& body) {
  if (x->is<Var>() || x->is<Tuple>() || x->is<Constant>()) return body(x);
  VarRef var = make_var("t", {}, x->span());
  return make_let(var, x, body(var), x->span());
}

ExprRef LaneCode::coerce(const ExprRef& x, LaneFacts::Id from, LaneFacts::Id to, Span span) {
  if (from == to) return x;
  if (facts_.is_tensor(from))
    return facts_.has_lanes(to) && !facts_.has_lanes(from) ? spread(x, from, span) : x;
  if (!facts_.is_tuple(from)) return x;
  bool same = true;
  for (size_t i = 0; i < facts_.num_parts(from); ++i)
    same = same && types_equal(facts_.type(facts_.part(from, i)), facts_.type(facts_.part(to, i)));
  if (same) return x;
  return with_name(x, [&](const ExprRef& tuple) {
    std::vector<ExprRef> fields;
    for (size_t i = 0; i < facts_.num_parts(from); ++i)
      fields.push_back(coerce(field_of(tuple, i), facts_.part(from, i), facts_.part(to, i), span));
    return relay::make_tuple(fields, span);
  });
}

namespace {

[[noreturn]] void refuse_choice(const LaneFacts& facts, LaneFacts::Id id, Span span) {
  throw Error(
      Diagnostic::error("lanes may take different branches here, and a value of type " +
                            facts.lane_type(id)->str() + " is the same for all lanes",
                        span)
          .help(
              "give tensors, or let all lanes take the same branch; if this is a gradient that is "
              "written out, call `grad(@f)` in the program instead, or take the gradient of the "
              "sum over lanes"));
}

}  // namespace

ExprRef LaneCode::select(const ExprRef& condition, const ExprRef& x, const ExprRef& y,
                         LaneFacts::Id id, Span span) {
  if (facts_.is_tensor(id)) {
    const auto rank = static_cast<int64_t>(lane_dims(facts_, id, span).size());
    return chosen(with_axes(condition, 1, rank), x, y, span);
  }
  if (facts_.lane_type(id)->is<FuncType>()) return select_function(condition, x, y, id, span);
  if (!facts_.is_tuple(id)) refuse_choice(facts_, id, span);
  return with_name(x, [&](const ExprRef& first) {
    return with_name(y, [&](const ExprRef& second) {
      std::vector<ExprRef> fields;
      for (size_t i = 0; i < facts_.num_parts(id); ++i)
        fields.push_back(
            select(condition, field_of(first, i), field_of(second, i), facts_.part(id, i), span));
      return relay::make_tuple(fields, span);
    });
  });
}

ExprRef LaneCode::select_function(const ExprRef& condition, const ExprRef& x, const ExprRef& y,
                                  LaneFacts::Id id, Span span) {
  std::vector<VarRef> params;
  std::vector<ExprRef> args;
  const size_t count = facts_.num_parts(id) - 1;
  VarRef first = make_var("f"), second = make_var("g"), mask = make_var("lanes");
  if (masked_) {
    const Dim dims[] = {lanes_};
    params.push_back(make_var("lanes", TensorType::make(dims, kBool)));
    args.push_back(mask);
  }
  for (size_t i = 0; i < count; ++i) {
    params.push_back(make_var("x", facts_.type(facts_.part(id, i))));
    args.push_back(params.back());
  }
  const LaneFacts::Id result = facts_.part(id, count);
  VarRef chosen = make_var("choice"), a = make_var("a"), b = make_var("b");
  auto call = [&](const VarRef& function, const ExprRef& wanted) {
    const ExprRef value = make_call(function, args, {}, {}, span);
    if (!masked_) return value;
    return make_let(mask, both(params[0], wanted), guarded(mask, value, result, span), span);
  };
  ExprRef body = select(chosen, a, b, result, span);
  body = make_let(b, copy_with_fresh_vars(call(second, no(chosen))), body, span);
  body = make_let(a, copy_with_fresh_vars(call(first, chosen)), body, span);
  ExprRef made = make_function(std::move(params), body, facts_.type(result), {}, {}, {}, span);
  made = make_let(second, y, made, span);
  made = make_let(first, x, made, span);
  return make_let(chosen, condition, made, span);
}

ExprRef LaneCode::of_wanted(const ExprRef& mask, const ExprRef& number, const ExprRef& x,
                            LaneFacts::Id id, Span span) {
  if (facts_.is_tensor(id)) {
    if (!facts_.has_lanes(id)) return x;
    const auto rank = static_cast<int64_t>(lane_dims(facts_, id, span).size());
    return chosen(with_axes(mask, 1, rank), x, one_lane(x, number), span);
  }
  return with_name(x, [&](const ExprRef& whole) -> ExprRef {
    std::vector<ExprRef> fields;
    for (size_t i = 0; i < facts_.num_parts(id); ++i)
      fields.push_back(of_wanted(mask, number, field_of(whole, i), facts_.part(id, i), span));
    return relay::make_tuple(fields, span);
  });
}

ExprRef LaneCode::guarded(const ExprRef& mask, const ExprRef& value, LaneFacts::Id id, Span span) {
  if (facts_.lane_type(id)->is<FuncType>()) return value;  // to make a function calls nothing
  if (!facts_.is_tensorial(id)) refuse_choice(facts_, id, span);
  return make_if(any_lane(mask), value, zeros(id, span), span);
}

bool LaneCode::has_zeros(LaneFacts::Id id) const {
  if (facts_.is_tensor(id)) return num_elements(facts_.lane_type(id).get()).has_value();
  if (!facts_.is_tuple(id)) return false;
  for (size_t i = 0; i < facts_.num_parts(id); ++i) {
    if (!has_zeros(facts_.part(id, i))) return false;
  }
  return true;
}

ExprRef LaneCode::zeros(LaneFacts::Id id, Span span) {
  if (facts_.is_tuple(id)) {
    std::vector<ExprRef> fields;
    for (size_t i = 0; i < facts_.num_parts(id); ++i)
      fields.push_back(zeros(facts_.part(id, i), span));
    return relay::make_tuple(fields, span);
  }
  const TypeRef type = facts_.lane_type(id);
  if (!num_elements(type.get()))
    throw Error("no lane may take this branch, and then its value must have known extents; it is " +
                    type->str(),
                span);
  const ExprRef zeros = zeros_of(type.get(), {});
  return facts_.has_lanes(id) ? spread(zeros, id, span) : zeros;
}

namespace {

size_t rank_of(const LaneFacts& facts, LaneFacts::Id id) {
  const auto* tensor = facts.lane_type(id)->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() ? tensor->dims().size() : SIZE_MAX;
}

bool has_known_type(const Type* type) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) {
      if (!has_known_type(field.get())) return false;
    }
    return true;
  }
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype();
}

/// True if an operator has lanes of its own: it takes the first axis of each operand for them, and
/// has no broadcasting across that axis.
bool has_own_lanes(const Operator& op) {
  return op.name().view().find(kBatchPrefix) != std::string_view::npos;
}

bool has_extents(const Type* type, std::span<const Dim> dims) {
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && std::ranges::equal(tensor->dims(), dims);
}

/// The operator itself, if it works element by element; null if not.
ExprRef elementwise(LaneFacts& facts, const Call& call, const Operator& op,
                    std::span<const ExprRef> args, std::span<const LaneFacts::Id> ids) {
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call.args()) {
    if (!has_known_type(arg->type()) || !arg->type()->is<TensorType>()) return {};
    types.emplace_back(arg->type());
  }
  const auto* result = call.type()->as<TensorType>();
  if (op.definition() != DefinitionKind::kCompute || result == nullptr || !has_known_type(result))
    return {};
  const LayoutRule rule = layout_rule(OpCall(&op, call.attrs(), types, TypeRef(result)));
  if (rule != LayoutRule::kFollows && rule != LayoutRule::kBroadcasts) return {};
  const size_t rank = result->dims().size();
  const bool own_lanes = has_own_lanes(op);
  std::vector<ExprRef> aligned;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool lanes = facts.has_lanes(ids[i]);
    const size_t own = rank_of(facts, ids[i]);
    if (own > rank) return {};
    if (rule == LayoutRule::kFollows && (!lanes || own != rank)) return {};
    if (own_lanes && (!lanes || !has_extents(facts.lane_type(ids[i]).get(), result->dims())))
      return {};
    aligned.push_back(lanes ? with_axes(args[i], 1, static_cast<int64_t>(rank - own)) : args[i]);
  }
  return make_call(call.callee(), aligned, call.attrs(), {}, call.span());
}

/// The argument with an axis of lanes in each tensor: of extent 1 where all share it.
ExprRef with_lanes(LaneFacts& facts, const ExprRef& arg, LaneFacts::Id id) {
  if (facts.is_tensor(id)) return facts.has_lanes(id) ? arg : with_axes(arg, 0, 1);
  if (!facts.is_tuple(id)) return arg;
  std::vector<ExprRef> fields;
  bool same = true;
  for (size_t i = 0; i < facts.num_parts(id); ++i) {
    const ExprRef field = field_of(arg, i);
    fields.push_back(with_lanes(facts, field, facts.part(id, i)));
    same = same && fields.back() == field;
  }
  return same ? arg : relay::make_tuple(fields, arg->span());
}

}  // namespace

ExprRef LaneCode::spread_all(const ExprRef& x, LaneFacts::Id id, Span span) {
  if (facts_.is_tensor(id)) return facts_.has_lanes(id) ? x : spread(x, id, span);
  if (!facts_.is_tuple(id)) return x;
  return with_name(x, [&](const ExprRef& whole) -> ExprRef {
    std::vector<ExprRef> fields;
    for (size_t i = 0; i < facts_.num_parts(id); ++i)
      fields.push_back(spread_all(field_of(whole, i), facts_.part(id, i), span));
    return relay::make_tuple(fields, span);
  });
}

ExprRef LaneCode::call_of(const Call& call, std::span<const ExprRef> args,
                          std::span<const LaneFacts::Id> ids) {
  const Operator& op = *call.callee()->as<Op>()->op();
  bool any = false;
  for (LaneFacts::Id id : ids) any = any || facts_.any(id);
  if (!any) {
    std::vector<ExprRef> operands{call.callee()};
    operands.insert(operands.end(), args.begin(), args.end());
    return rebuild(&call, operands);
  }
  if (const LanesFn* form = lanes_form().find(&op)) {
    std::vector<ExprRef> wide;
    for (size_t i = 0; i < args.size(); ++i)
      wide.push_back(spread_all(args[i], ids[i], call.span()));
    return (*form)(call, wide, lanes_);
  }
  if (op.definition() == DefinitionKind::kExpand) {  // an annotation of its argument
    std::vector<ExprRef> same(args.begin(), args.end());
    return make_call(call.callee(), same, call.attrs(), {}, call.span());
  }
  if (ExprRef found = elementwise(facts_, call, op, args, ids)) return found;
  if (!op.pure())
    throw Error("vmap: " + op.name().str() + " has an effect, which lanes cannot have at once",
                call.span());
  const Operator* form = find_op(Name(std::string(kBatchPrefix) + op.name().str()));
  if (form == nullptr)
    throw Error("vmap: " + op.name().str() + " has no form for more than " +
                    std::to_string(kMaxBatchDepth) + " axes of lanes",
                call.span());
  std::vector<ExprRef> wide;
  for (size_t i = 0; i < args.size(); ++i) wide.push_back(with_lanes(facts_, args[i], ids[i]));
  return make_call(make_op(form), wide, call.attrs(), {}, call.span());
}

}  // namespace relay::lanes
