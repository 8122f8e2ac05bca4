// Branches, matches and references of the partial evaluator.
#include <relay/support/error.h>
#include <relay/transform/partial/machine.h>

namespace relay::partial {
namespace {

using Bindings = std::vector<std::pair<const Var*, Known*>>;
enum class Fit : uint8_t { kYes, kNo, kUnknown };

// The types of the parts of a value of a type that a pattern looks into; nothing if they are not
// known.
std::vector<TypeRef> part_types(const Pattern& pattern, const Type* type, const Module& module) {
  if (type == nullptr) return {};
  if (const auto* tuple = type->as<TupleType>(); tuple != nullptr)
    return {tuple->fields().begin(), tuple->fields().end()};
  const auto* applied = type->as<TypeCall>();
  if (applied == nullptr || pattern.kind() != PatternKind::kConstructor) return {};
  const Constructor& constructor = *pattern.constructor();
  const TypeData* data = module.type_data(constructor.type_name().get());
  if (data == nullptr || data->type_vars().size() != applied->args().size()) return {};
  std::vector<TypeRef> parts;
  for (const TypeRef& input : constructor.inputs()) {
    parts.push_back(substitute(input, [&](const TypeVar* var) {
      for (size_t i = 0; i < applied->args().size(); ++i) {
        if (data->type_vars()[i].get() == var) return applied->args()[i];
      }
      return TypeRef();
    }));
  }
  return parts;
}

// The fit of a value of a type to a pattern; as deep as patterns are, which is bounded.
Fit fit(const Pattern& pattern, Known* value, const Type* type, const Module& module,
        Bindings& bindings) {
  switch (pattern.kind()) {
    case PatternKind::kWildcard:
      return Fit::kYes;
    case PatternKind::kVar:
      // An annotation of another type than the value's converts it.
      if (pattern.var()->annotation() && (type == nullptr || pattern.var()->type() != type))
        return Fit::kUnknown;
      bindings.emplace_back(pattern.var().get(), value);
      return Fit::kYes;
    case PatternKind::kConstructor:
      if (value->kind != Known::Kind::kData) return Fit::kUnknown;
      if (value->constructor->ctor_tag() != pattern.constructor()->ctor_tag()) return Fit::kNo;
      break;
    case PatternKind::kTuple:
      if (value->kind != Known::Kind::kTuple) return Fit::kUnknown;
      break;
  }
  const std::vector<TypeRef> types = part_types(pattern, type, module);
  Fit all = Fit::kYes;
  for (size_t i = 0; i < pattern.fields().size(); ++i) {
    const Fit one = fit(*pattern.fields()[i], value->fields[i],
                        i < types.size() ? types[i].get() : nullptr, module, bindings);
    if (one == Fit::kNo) return Fit::kNo;
    if (one == Fit::kUnknown) all = Fit::kUnknown;
  }
  return all;
}

// The pattern with variables of its own.
PatternRef fresh(const Pattern& pattern, std::vector<std::pair<const Var*, VarRef>>& vars) {
  switch (pattern.kind()) {
    case PatternKind::kWildcard:
      return Pattern::wildcard(pattern.span());
    case PatternKind::kVar: {
      const TypeRef& annotation = pattern.var()->annotation();
      vars.emplace_back(
          pattern.var().get(),
          make_var(pattern.var()->name(),
                   annotation && annotation->closed() ? annotation : TypeRef(), pattern.span()));
      return Pattern::var(vars.back().second, pattern.span());
    }
    default:
      break;
  }
  std::vector<PatternRef> fields;
  for (const PatternRef& field : pattern.fields()) fields.push_back(fresh(*field, vars));
  return pattern.kind() == PatternKind::kTuple
             ? Pattern::tuple(std::move(fields), pattern.span())
             : Pattern::constructor(pattern.constructor(), std::move(fields), pattern.span());
}

}  // namespace

Known* Machine::choose(const If& choice, Scope* scope) {
  Known* condition = operand(choice.condition().get(), scope);
  if (condition->kind == Known::Kind::kTensor) {
    const bool holds = condition->tensor.item_as_int64() != 0;
    const ExprRef& branch = holds ? choice.then_branch() : choice.else_branch();
    frames_.push_back({branch.get(), scope, Then::kPass});
    return nullptr;
  }
  if (!ready(condition)) return nullptr;
  joins_.push_back({&choice, atom(condition), {}, {}, store_, std::nullopt});
  ++control_;
  next_branch();
  return nullptr;
}

Known* Machine::match(const Match& match, Scope* scope) {
  Known* data = operand(match.data().get(), scope);
  for (size_t i = 0; i < match.patterns().size(); ++i) {
    Bindings bindings;
    const Fit found = fit(*match.patterns()[i], data, match.data()->type(), module_, bindings);
    if (found == Fit::kNo) continue;
    if (found == Fit::kUnknown) break;
    for (auto [var, value] : bindings) {
      // A variable of open extents keeps its type, though its value may be known more exactly.
      const TypeRef& wanted = var->annotation();
      const bool wider = wanted && wanted->closed() && wanted->has_any_dim() && has_atom(*value) &&
                         atom(value)->type() != var->type();
      scope->variables[var] = wider ? emit(atom(value), wanted) : value;
    }
    frames_.push_back({match.clause_bodies()[i].get(), scope, Then::kPass});
    return nullptr;
  }
  if (!ready(data)) return nullptr;
  joins_.push_back({&match, atom(data), {}, {}, store_, std::nullopt});
  ++control_;
  next_branch();
  return nullptr;
}

// Begins the next branch of the last join, whose owner is the step that the last frame is at.
void Machine::next_branch() {
  Join& join = joins_.back();
  const size_t branch = join.bodies.size();
  store_ = join.before;
  open_block();
  Scope* scope = frames_.back().scope;
  if (const auto* match = join.owner->as<Match>()) {
    std::vector<std::pair<const Var*, VarRef>> vars;
    join.patterns.push_back(fresh(*match->patterns()[branch], vars));
    for (const auto& [var, own] : vars)
      scope->variables[var] = values_.unknown(own, blocks_.back().id);
  }
  frames_.push_back({join.owner->operands()[branch + 1].get(), scope, Then::kBranch});
}

void Machine::finish_branch(const ExprRef& result) {
  Join& join = joins_.back();
  join.bodies.push_back(close_block(result));
  // The content of cells after all branches.
  // A value that a branch has written may be one of its block, which nothing outside can name.
  if (!join.after) join.after = join.before;
  std::erase_if(*join.after, [&](const auto& entry) {
    auto found = store_.find(entry.first);
    return found == store_.end() || found->second != entry.second;
  });
  frames_.pop_back();
  if (join.bodies.size() + 1 < join.owner->operands().size()) {
    next_branch();
    return;
  }
  --control_;
  store_ = std::move(*join.after);
  ExprRef written;
  if (const auto* match = join.owner->as<Match>()) {
    written = make_match(join.head, std::move(join.patterns), join.bodies, match->complete(),
                         match->span());
  } else {
    written = make_if(join.head, join.bodies[0], join.bodies[1], join.owner->span());
  }
  joins_.pop_back();
  deliver(emit(std::move(written)));
}

Known* Machine::reference(const Expr* expr, Scope* scope) {
  std::vector<Known*> operands;
  for (const ExprRef& each : expr->operands()) operands.push_back(operand(each.get(), scope));
  for (Known* each : operands) {
    if (!ready(each)) return nullptr;
  }
  if (expr->is<RefCreate>()) {
    Known* cell = emit(make_ref_create(atom(operands[0]), expr->span()));
    cell->kind = Known::Kind::kReference;
    store_[cell] = operands[0];
    return cell;
  }
  Known* cell = operands[0];
  if (expr->is<RefRead>()) {
    auto held = store_.find(cell);
    if (held != store_.end()) return held->second;
    Known* value = emit(make_ref_read(atom(cell), expr->span()));
    store_[cell] = value;
    return value;
  }
  Known* done = emit(make_ref_write(atom(cell), atom(operands[1]), expr->span()));
  done->kind = Known::Kind::kTuple;
  // Cells that were made here are different ones; of others nobody knows.
  const bool own = cell->kind == Known::Kind::kReference;
  std::erase_if(store_, [&](const auto& entry) {
    return !own || entry.first->kind != Known::Kind::kReference;
  });
  store_[cell] = operands[1];
  return done;
}

}  // namespace relay::partial
