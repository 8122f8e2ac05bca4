// Writes a program whose values have lanes.
#include <relay/transform/batch/lane_writer.h>

#include <relay/ir/visit.h>
#include <relay/op/registry/lane_values.h>
#include <relay/op/registry/simplify.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/facts.h>

namespace relay::lanes {

TypeRef mask_type(const Dim& lanes) {
  const Dim dims[] = {lanes};
  return TensorType::make(dims, kBool);
}

FunctionRef LaneWriter::global(const Function& function, const Name& name) {
  const Loop* loop = lanes_.loop(name);
  if (loop != nullptr && ends_apart(*loop)) return loop_function(function, name, *loop);
  return FunctionRef(run(FunctionRef(&function))->as<Function>());
}

VarRef LaneWriter::var_of(const Var* old) {
  VarRef& made = vars_[old];
  if (!made) made = make_var(old->name(), facts_.type(lanes_.of(old)), old->span());
  return made;
}

bool LaneWriter::guards(const If* choice) const {
  return lanes_.parts_lanes(choice) &&
         !(is_simple(choice->then_branch().get()) && is_simple(choice->else_branch().get()));
}

void LaneWriter::before(const Expr* expr, uint32_t operand, std::span<const ExprRef>) {
  if (expr->is<Function>() && lanes_.masked())
    masks_.push_back(make_var("lanes", mask_type(number_)));
  const auto* choice = expr->as<If>();
  if (choice == nullptr || !guards(choice)) return;
  if (operand == 1) {
    branches_.push_back({make_var("choice"), make_var("lanes"), make_var("lanes")});
    masks_.push_back(branches_.back().then_mask);
  } else if (operand == 2) {
    masks_.back() = branches_.back().else_mask;
  }
}

ExprRef LaneWriter::rewrite(const Expr* expr, std::span<const ExprRef> operands) {
  switch (expr->kind()) {
    case ExprKind::kVar:
      return var_of(static_cast<const Var*>(expr));
    case ExprKind::kGlobalVar: {
      auto found = names_.find(static_cast<const GlobalVar*>(expr)->name());
      return found == names_.end() ? ExprRef(expr) : make_global_var(found->second, expr->span());
    }
    case ExprKind::kTuple:
      return write_tuple(expr, operands);
    case ExprKind::kLet: {
      const auto& let = static_cast<const Let&>(*expr);
      const ExprRef value = code_.coerce(operands[0], lanes_.of(let.value().get()),
                                         lanes_.of(let.var().get()), let.span());
      return make_let(var_of(let.var().get()), value, operands[1], expr->span());
    }
    case ExprKind::kFunction:
      return write_function(static_cast<const Function&>(*expr), operands[0]);
    case ExprKind::kCall:
      return write_call(static_cast<const Call&>(*expr), operands);
    case ExprKind::kIf:
      return write_if(static_cast<const If&>(*expr), operands);
    case ExprKind::kMatch:
      return write_match(static_cast<const Match&>(*expr), operands);
    case ExprKind::kConstructor:
      return facts_.constructor(ConstructorRef(static_cast<const Constructor*>(expr)));
    case ExprKind::kRefCreate:
      return make_ref_create(code_.coerce(operands[0], lanes_.of(expr->operands()[0].get()),
                                          facts_.part(lanes_.of(expr), 0), expr->span()),
                             expr->span());
    case ExprKind::kRefWrite:
      return write_ref(static_cast<const RefWrite&>(*expr), operands);
    default:
      return rebuild(expr, operands);
  }
}

ExprRef LaneWriter::write_tuple(const Expr* expr, std::span<const ExprRef> operands) {
  std::vector<ExprRef> fields;
  for (size_t i = 0; i < operands.size(); ++i)
    fields.push_back(code_.coerce(operands[i], lanes_.of(expr->operands()[i].get()),
                                  facts_.part(lanes_.of(expr), i), expr->span()));
  return relay::make_tuple(fields, expr->span());
}

ExprRef LaneWriter::write_function(const Function& old, const ExprRef& body) {
  std::vector<VarRef> params;
  if (lanes_.masked()) {
    params.push_back(masks_.back());
    masks_.pop_back();
  }
  for (const VarRef& param : old.params()) params.push_back(var_of(param.get()));
  const Id result = facts_.part(lanes_.of(&old), old.params().size());
  return make_function(std::move(params),
                       code_.coerce(body, lanes_.of(old.body().get()), result, old.body()->span()),
                       facts_.type(result), old.type_params(), {}, old.attrs(), old.span());
}

ExprRef LaneWriter::write_call(const Call& call, std::span<const ExprRef> operands) {
  const auto args = operands.subspan(1);
  const Expr* callee = call.callee().get();
  if (callee->is<Op>()) {
    std::vector<Id> ids;
    for (const ExprRef& arg : call.args()) ids.push_back(lanes_.of(arg.get()));
    return code_.call_of(call, args, ids);
  }
  const auto* constructor = callee->as<Constructor>();
  std::vector<ExprRef> wanted;
  if (constructor == nullptr && lanes_.masked()) wanted.push_back(masks_.back());
  for (size_t i = 0; i < args.size(); ++i) {
    const Id to =
        constructor != nullptr ? lanes_.fields(call)[i] : facts_.part(lanes_.of(callee), i);
    wanted.push_back(code_.coerce(args[i], lanes_.of(call.args()[i].get()), to, call.span()));
  }
  return make_call(operands[0], wanted, call.attrs(), {}, call.span());
}

ExprRef LaneWriter::write_if(const If& choice, std::span<const ExprRef> operands) {
  const Id id = lanes_.of(&choice);
  const Id then_id = lanes_.of(choice.then_branch().get());
  const Id else_id = lanes_.of(choice.else_branch().get());
  if (!lanes_.parts_lanes(&choice))
    return make_if(operands[0], code_.coerce(operands[1], then_id, id, choice.span()),
                   code_.coerce(operands[2], else_id, id, choice.span()), choice.span());
  if (!guards(&choice))
    return code_.select(operands[0], operands[1], operands[2], id, choice.span());
  const Branches now = branches_.back();
  branches_.pop_back();
  masks_.pop_back();
  // A branch runs only if a lane wants it, so recursion ends; then for all lanes, of which those
  // that do not want it write nothing.
  auto branch = [&](const VarRef& mask, const ExprRef& old, const ExprRef& written, Id own) {
    return code_.guarded(mask, for_wanted(mask, old.get(), written), own, choice.span());
  };
  VarRef first = make_var("x"), second = make_var("y");
  ExprRef result = code_.select(now.condition, first, second, id, choice.span());
  result =
      make_let(second, branch(now.else_mask, choice.else_branch(), operands[2], else_id), result);
  result = make_let(now.else_mask, both(masks_.back(), no(now.condition)), result);
  result =
      make_let(first, branch(now.then_mask, choice.then_branch(), operands[1], then_id), result);
  result = make_let(now.then_mask, both(masks_.back(), now.condition), result);
  return make_let(now.condition, operands[0], result, choice.span());
}

bool LaneWriter::is_finite(const Call& call) const {
  if (loop_.loop != nullptr && loop_.loop->calls.count(&call) != 0) return true;
  const std::optional<OpCall> known = tensor_call(&call);
  if (!known || known->op()->definition() != DefinitionKind::kCompute) return false;
  try {
    return te::is_finite_everywhere(build_computation(*known));
  } catch (const Error&) {
    return false;  // the call says what is wrong when it is typed or runs
  }
}

ExprRef LaneWriter::for_wanted(const ExprRef& mask, const Expr* branch, const ExprRef& written) {
  bool finite = true;
  visit_each(branch, [&](const Expr* expr) {
    const auto* call = expr->as<Call>();
    finite = finite && (call == nullptr || is_finite(*call));
    return finite;
  });
  if (finite || number_.is_int(0)) return written;
  VarRef number = make_var("lane");
  std::unordered_map<const Var*, ExprRef> wanted;
  std::vector<std::pair<VarRef, ExprRef>> lets;
  for (const VarRef& var : free_vars(branch)) {
    const Id id = lanes_.of(var.get());
    if (!facts_.any(id) || !facts_.is_tensorial(id)) continue;
    const VarRef all = var_of(var.get());
    lets.emplace_back(make_var(var->name(), facts_.type(id), var->span()),
                      code_.of_wanted(mask, number, all, id, branch->span()));
    wanted[all.get()] = lets.back().first;
  }
  if (lets.empty()) return written;
  ExprRef result = substitute(written, wanted);
  for (size_t i = lets.size(); i-- > 0;)
    result = make_let(lets[i].first, lets[i].second, result, written->span());
  return make_let(number, first_lane(mask), result, written->span());
}

ExprRef LaneWriter::write_match(const Match& match, std::span<const ExprRef> operands) {
  std::vector<PatternRef> patterns;
  std::vector<ExprRef> bodies;
  for (size_t i = 0; i < match.patterns().size(); ++i) {
    patterns.push_back(write_pattern(match.patterns()[i]));
    bodies.push_back(code_.coerce(operands[i + 1], lanes_.of(match.clause_bodies()[i].get()),
                                  lanes_.of(&match), match.span()));
  }
  return make_match(operands[0], std::move(patterns), bodies, match.complete(), match.span());
}

PatternRef LaneWriter::write_pattern(const PatternRef& old) {
  std::vector<PatternRef> fields;
  for (const PatternRef& field : old->fields()) fields.push_back(write_pattern(field));
  switch (old->kind()) {
    case PatternKind::kWildcard:
      return old;
    case PatternKind::kVar:
      return Pattern::var(var_of(old->var().get()), old->span());
    case PatternKind::kTuple:
      return Pattern::tuple(std::move(fields), old->span());
    case PatternKind::kConstructor:
      return Pattern::constructor(facts_.constructor(old->constructor()), std::move(fields),
                                  old->span());
  }
  RELAY_UNREACHABLE("unknown pattern");
}

ExprRef LaneWriter::write_ref(const RefWrite& write, std::span<const ExprRef> operands) {
  const Id content = facts_.part(lanes_.of(write.ref().get()), 0);
  const ExprRef value =
      code_.coerce(operands[1], lanes_.of(write.value().get()), content, write.span());
  if (!lanes_.masked()) return make_ref_write(operands[0], value, write.span());
  VarRef ref = make_var("ref"), now = make_var("now"), old = make_var("old");
  ExprRef result = make_ref_write(ref, code_.select(masks_.back(), now, old, content, write.span()),
                                  write.span());
  result = make_let(old, make_ref_read(ref), result);
  return make_let(ref, operands[0], make_let(now, value, result));
}

// ---- Loops whose lanes end at different times --------------------------------------------------

bool LaneWriter::ends_apart(const Loop& loop) const {
  for (const Expr* choice : loop.choices) {
    if (lanes_.parts_lanes(static_cast<const If*>(choice))) return true;
  }
  return false;
}

FunctionRef LaneWriter::loop_function(const Function& old, const Name& name, const Loop& loop) {
  loop_ = {&old, &loop, {}};
  std::vector<VarRef> params;
  VarRef mask = make_var("lanes", mask_type(number_));
  masks_.push_back(mask);
  if (lanes_.masked()) params.push_back(mask);
  for (const VarRef& param : old.params()) {
    params.push_back(var_of(param.get()));
    loop_.kept.push_back(params.back());
  }
  const Id id = lanes_.function(name);
  const Id result = facts_.part(id, old.params().size());
  const ExprRef turn = turn_of(old.body().get());
  ExprRef end = end_of(old.body().get(), result);
  if (!end) end = code_.zeros(result, old.span());  // a loop without an end
  VarRef state = make_var("turn"), on = make_var("on");
  std::vector<ExprRef> args;
  if (lanes_.masked()) args.push_back(mask);
  for (size_t i = 0; i < old.params().size(); ++i)
    args.push_back(loop.invariant[i] ? loop_.kept[i]
                                     : make_projection(state, static_cast<uint32_t>(1 + i)));
  const ExprRef again = make_call(make_global_var(names_.at(name)), args, {}, {}, old.span());
  const ExprRef goes_on = make_projection(state, 0);
  ExprRef body = make_if(any_lane(on), again, copy_with_fresh_vars(end), old.span());
  body = make_let(on, lanes_.masked() ? both(mask, goes_on) : goes_on, body);
  body = make_let(state, turn, body);
  masks_.pop_back();
  if (!lanes_.masked() && !number_.is_int()) throw Error("vmap of a loop needs masks", old.span());
  if (!lanes_.masked()) body = make_let(mask, all_lanes(number_.as_int()), body);
  return make_function(std::move(params), body, facts_.type(result), old.type_params(), {},
                       old.attrs(), old.span());
}

ExprRef LaneWriter::truth(bool value) {
  if (value) return masks_.back();
  return both(masks_.back(), no(masks_.back()));
}

ExprRef LaneWriter::state_of(const ExprRef& goes_on, const std::vector<ExprRef>& values) {
  std::vector<ExprRef> fields{goes_on};
  fields.insert(fields.end(), values.begin(), values.end());
  return relay::make_tuple(fields);
}

ExprRef LaneWriter::after_lets(const Expr* tail, const std::function<ExprRef(const Expr*)>& make) {
  std::vector<const Let*> lets;
  for (; tail->is<Let>(); tail = static_cast<const Let*>(tail)->body().get())
    lets.push_back(static_cast<const Let*>(tail));
  std::vector<ExprRef> values;
  for (const Let* let : lets)
    values.push_back(code_.coerce(run(let->value()), lanes_.of(let->value().get()),
                                  lanes_.of(let->var().get()), let->span()));
  ExprRef result = make(tail);
  if (!result) return result;
  for (size_t i = lets.size(); i-- > 0;)
    result = make_let(var_of(lets[i]->var().get()), values[i], result, lets[i]->span());
  return result;
}

ExprRef LaneWriter::turn_of(const Expr* tail) {
  return after_lets(tail, [&](const Expr* end) -> ExprRef {
    if (loop_.loop->calls.count(end) != 0) {
      const auto& call = static_cast<const Call&>(*end);
      std::vector<ExprRef> values;
      for (size_t i = 0; i < call.args().size(); ++i) {
        const Id to = facts_.part(lanes_.of(call.callee().get()), i);
        values.push_back(loop_.loop->invariant[i]
                             ? relay::make_tuple(std::vector<ExprRef>())
                             : code_.coerce(run(call.args()[i]), lanes_.of(call.args()[i].get()),
                                            to, end->span()));
      }
      return state_of(truth(true), values);
    }
    if (loop_.loop->choices.count(end) == 0) return stay();
    const auto& choice = static_cast<const If&>(*end);
    const ExprRef condition = run(choice.condition());
    if (!lanes_.parts_lanes(&choice))
      return make_if(condition, turn_of(choice.then_branch().get()),
                     turn_of(choice.else_branch().get()), end->span());
    VarRef name = make_var("choice"), first = make_var("x"), second = make_var("y");
    ExprRef result = joined(name, first, second, end->span());
    result = make_let(second, turn_if_wanted(no(name), choice.else_branch().get()), result);
    result = make_let(first, turn_if_wanted(name, choice.then_branch().get()), result);
    return make_let(name, condition, result, end->span());
  });
}

ExprRef LaneWriter::stay() {
  std::vector<ExprRef> values;
  for (size_t i = 0; i < loop_.kept.size(); ++i)
    values.push_back(loop_.loop->invariant[i] ? relay::make_tuple(std::vector<ExprRef>())
                                              : ExprRef(loop_.kept[i]));
  return state_of(truth(false), values);
}

ExprRef LaneWriter::turn_if_wanted(const ExprRef& condition, const Expr* branch) {
  const Expr* end = branch;
  while (end->is<Let>()) end = static_cast<const Let*>(end)->body().get();
  const bool ends = loop_.loop->calls.count(end) == 0 && loop_.loop->choices.count(end) == 0;
  if (!lanes_.masked()) {
    const ExprRef turn = turn_of(branch);
    const ExprRef wanted = ends ? turn : for_wanted(condition, branch, turn);
    return wanted == turn ? turn : make_if(any_lane(condition), wanted, stay());
  }
  VarRef mask = make_var("lanes");
  masks_.push_back(mask);
  ExprRef turn = turn_of(branch);
  if (!ends) turn = for_wanted(mask, branch, turn);
  turn = make_if(any_lane(mask), turn, stay());
  masks_.pop_back();
  return make_let(mask, both(masks_.back(), condition), turn);
}

ExprRef LaneWriter::joined(const ExprRef& condition, const ExprRef& x, const ExprRef& y,
                           Span span) {
  std::vector<ExprRef> values;
  const Function& function = *loop_.function;
  for (size_t i = 0; i < function.params().size(); ++i) {
    const auto at = static_cast<uint32_t>(1 + i);
    values.push_back(loop_.loop->invariant[i]
                         ? relay::make_tuple(std::vector<ExprRef>())
                         : code_.select(condition, make_projection(x, at), make_projection(y, at),
                                        lanes_.of(function.params()[i].get()), span));
  }
  return state_of(chosen(condition, make_projection(x, 0), make_projection(y, 0), span), values);
}

ExprRef LaneWriter::end_of(const Expr* tail, Id result) {
  return after_lets(tail, [&](const Expr* end) -> ExprRef {
    if (loop_.loop->calls.count(end) != 0) return {};
    if (loop_.loop->choices.count(end) == 0)
      return code_.coerce(run(ExprRef(end)), lanes_.of(end), result, end->span());
    const auto& choice = static_cast<const If&>(*end);
    ExprRef first = end_of(choice.then_branch().get(), result);
    ExprRef second = end_of(choice.else_branch().get(), result);
    if (!first || !second) return first ? first : second;
    const ExprRef condition = run(choice.condition());
    if (!lanes_.parts_lanes(&choice)) return make_if(condition, first, second, end->span());
    VarRef name = make_var("choice");
    if (code_.has_zeros(result)) {
      first = code_.guarded(name, for_wanted(name, choice.then_branch().get(), first), result,
                            end->span());
      second = code_.guarded(no(name), for_wanted(no(name), choice.else_branch().get(), second),
                             result, end->span());
    }
    return make_let(name, condition, code_.select(name, first, second, result, end->span()),
                    end->span());
  });
}

}  // namespace relay::lanes
