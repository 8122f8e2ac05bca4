#include <relay/transform/layouts.h>

#include <algorithm>

#include <relay/op/registry/axis_flow.h>
#include <relay/op/shape/window_attrs.h>
#include <relay/program/cost.h>
#include <relay/support/error.h>
#include <relay/transform/fusion.h>
#include <relay/transform/op_calls.h>

namespace relay {

FunctionRef LayoutRewriter::apply(const FunctionRef& function) {
  return FunctionRef(run(function)->as<Function>());
}

ExprRef LayoutRewriter::enter(const Expr* expr) {
  const auto* function = expr->as<Function>();
  return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
}

void LayoutRewriter::note(const Expr* old, Arrangements arrangements) {
  const bool any = std::any_of(arrangements.begin(), arrangements.end(),
                               [](const Arrangement& one) { return one.moved(); });
  if (any) moved_[old] = std::move(arrangements);
}

ExprRef LayoutRewriter::rewrite(const Expr* expr, std::span<const ExprRef> operands) {
  if (const auto* call = expr->as<Call>(); call != nullptr && called_op(expr) != nullptr)
    return rewrite_call(*call, operands);
  if (const auto* tuple = expr->as<Tuple>()) return rewrite_tuple(*tuple, operands);
  if (const auto* item = expr->as<TupleGetItem>()) {
    if (const Arrangements* found = moved_.find(item->tuple().get())) {
      const Arrangement field = found->at(item->index());
      note(expr, {field});
    }
    return rebuild(expr, operands);
  }
  std::vector<ExprRef> as_before(operands.begin(), operands.end());
  for (size_t i = 0; i < as_before.size(); ++i)
    as_before[i] = plain(as_before[i], expr->operands()[i].get());
  return rebuild(expr, as_before);
}

ExprRef LayoutRewriter::rewrite_tuple(const Tuple& tuple, std::span<const ExprRef> operands) {
  std::vector<ExprRef> fields(operands.begin(), operands.end());
  Arrangements result(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    const Expr* old = tuple.fields()[i].get();
    const Arrangements* found = moved_.find(old);
    if (found == nullptr) continue;
    if (old->type()->is<TensorType>()) {
      result[i] = found->at(0);
    } else {
      fields[i] = plain(fields[i], old);  // tuples in tuples are as in the program
    }
  }
  note(&tuple, std::move(result));
  return rebuild(&tuple, fields);
}

ExprRef LayoutRewriter::plain(const ExprRef& value, const Expr* old) {
  const Arrangements* found = moved_.find(old);
  return found == nullptr ? value : arranged(value, old, Arrangements(found->size()));
}

ExprRef LayoutRewriter::arranged(const ExprRef& value, const Expr* old,
                                 const Arrangements& wanted) {
  const Arrangements* found = moved_.find(old);
  const Arrangements from = found == nullptr ? Arrangements(wanted.size()) : *found;
  if (wanted.empty()) return value;
  const auto* tuple = old->type()->as<TupleType>();
  if (tuple == nullptr)
    return arranged_tensor(value, *old->type()->as<TensorType>(), from[0], wanted[0]);
  const auto* written = value->as<Tuple>();
  std::vector<ExprRef> fields;
  bool same = true;
  for (size_t i = 0; i < wanted.size(); ++i) {
    ExprRef field =
        written == nullptr ? projection(value, static_cast<uint32_t>(i)) : written->fields()[i];
    fields.push_back(
        arranged_tensor(field, *tuple->fields()[i]->as<TensorType>(), from[i], wanted[i]));
    same = same && fields.back() == field;
  }
  if (same) return value;
  std::string key = "tuple";
  for (size_t i = 0; i < wanted.size(); ++i)
    key += ";" + from[i].stored + ">" + wanted[i].axes + ">" + wanted[i].stored;
  return remembered(value, key, [&] { return make_tuple(fields, value->span()); });
}

ExprRef LayoutRewriter::projection(const ExprRef& tuple, uint32_t index) {
  return remembered(tuple, "." + std::to_string(index),
                    [&] { return make_projection(tuple, index, tuple->span()); });
}

template <class Make>
ExprRef LayoutRewriter::remembered(const ExprRef& value, const std::string& key, Make make) {
  ExprRef& known = made_[{value.get(), key}];
  if (!known) {
    kept_.push_back(value);
    known = make();
  }
  return known;
}

ExprRef LayoutRewriter::arranged_tensor(const ExprRef& value, const TensorType& type,
                                        const Arrangement& from, const Arrangement& to) {
  if (from == to || (!from.moved() && !to.moved())) return value;
  ExprRef start = value;
  std::string source = to.axes;
  std::string target = to.stored;
  if (!to.moved()) {
    source = from.stored;
    target = from.axes;
  } else if (from.moved()) {
    std::optional<Arrangement> same = with_letters(from, to.axes);
    if (same) {
      source = same->stored;
    } else {  // of another rank: by way of the program's layout
      start = arranged_tensor(value, type, from, {});
    }
  }
  const size_t rank = type.dims().size();
  if (to.moved() && to.axes.size() > rank) {
    const size_t missing = to.axes.size() - rank;
    start = remembered(start, "+" + std::to_string(missing),
                       [&] { return make_leading_axes(start, missing, value->span()); });
  }
  if (source == target) return start;
  return remembered(start, source + ">" + target,
                    [&] { return make_layout_transform(start, source, target, value->span()); });
}

ExprRef LayoutRewriter::rewrite_call(const Call& call, std::span<const ExprRef> operands) {
  auto argument = [&](size_t i) { return plain(operands[i + 1], call.args()[i].get()); };
  auto as_before = [&] {
    std::vector<ExprRef> plain_operands(operands.begin(), operands.end());
    for (size_t i = 1; i < plain_operands.size(); ++i) plain_operands[i] = argument(i - 1);
    return rebuild(&call, plain_operands);
  };
  std::optional<OpCall> typed = typed_call(&call);
  if (!typed) return as_before();

  std::optional<Written> written = write(call, *typed, argument);
  if (!written) {
    std::vector<Arrangements> offered;
    bool any = false;
    for (size_t i = 0; i < typed->num_inputs(); ++i) {
      const auto* tuple = typed->input(i)->as<TupleType>();
      const Arrangements* found = moved_.find(call.args()[i].get());
      offered.push_back(
          found != nullptr ? *found : Arrangements(tuple == nullptr ? 1 : tuple->fields().size()));
      any |= found != nullptr;
    }
    std::optional<CallFlow> flow = any ? follow_layouts(*typed, offered) : std::nullopt;
    if (!flow) return as_before();
    written = Written{call.callee(), std::move(*flow), {}};
  }
  if (written->instead) return written->instead;
  std::vector<ExprRef> args;
  for (size_t i = 0; i < operands.size() - 1; ++i) {
    auto made = written->made.find(i);
    args.push_back(made != written->made.end()
                       ? made->second
                       : arranged(operands[i + 1], call.args()[i].get(), written->flow.inputs[i]));
  }
  // A transform of the program's own that has become one to the same layout.
  const auto* transform = written->flow.attrs && written->flow.attrs->is<LayoutTransformAttrs>()
                              ? &written->flow.attrs->as<LayoutTransformAttrs>()
                              : nullptr;
  note(&call, written->flow.results);
  if (transform != nullptr && *transform->src_layout == *transform->dst_layout) return args[0];
  const bool same = written->callee == call.callee() && written->flow.attrs == typed->attrs_ref();
  AttrsRef attrs = same ? call.attrs() : written->flow.attrs;
  std::vector<ExprRef> parts{written->callee};
  parts.insert(parts.end(), args.begin(), args.end());
  return same ? rebuild(&call, parts)
              : make_call(written->callee, args, attrs, call.type_args(), call.span());
}

}  // namespace relay
