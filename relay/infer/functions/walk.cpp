// The walk over expressions: an explicit stack of nodes and one of types, so depth costs memory
// only.
#include <relay/infer/functions/inferencer.h>
#include <relay/infer/messages.h>
#include <relay/ir/tensor_types.h>

namespace relay::inference {

Value Inferencer::run(const Expr* root) {
  size_t bottom = frames_.size();
  visit(root);
  while (frames_.size() > bottom) step();
  Value value = std::move(values_.back());
  values_.pop_back();
  return value;
}

void Inferencer::find_homes() {
  if (!homes_) homes_.emplace(root_);
}

void Inferencer::visit(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kVar:
      if (const Value* known = vars_.find(static_cast<const Var*>(expr))) {
        values_.push_back(*known);
      } else {
        values_.push_back({variable_type(static_cast<const Var*>(expr))});
      }
      return;
    case ExprKind::kGlobalVar:
      values_.push_back({global_type(static_cast<const GlobalVar*>(expr))});
      return;
    case ExprKind::kConstant: {
      const NDArray& data = static_cast<const Constant*>(expr)->data();
      if (expr->type() == nullptr) expr->publish_type(type_of_array(data));
      values_.push_back({TypeRef(expr->type())});
      return;
    }
    case ExprKind::kOp: {
      TypeRef scheme = context_.operator_scheme(static_cast<const Op*>(expr)->op());
      if (expr->type() == nullptr) expr->publish_type(scheme);
      values_.push_back({std::move(scheme)});
      return;
    }
    case ExprKind::kConstructor: {
      TypeRef scheme =
          context_.constructor_scheme(*static_cast<const Constructor*>(expr), expr->span());
      if (scheme) {
        if (expr->type() == nullptr) expr->publish_type(scheme);
        values_.push_back({std::move(scheme)});
      } else {
        values_.push_back({failed(expr->span())});
      }
      return;
    }
    default:
      break;
  }
  if (known(expr)) {
    values_.push_back({TypeRef(expr->type())});
    return;
  }
  if (!expr->has_one_owner()) {
    if (const Value* known = done_.find(expr)) {
      values_.push_back(*known);
      return;
    }
  }
  uint32_t level = solver_.level();
  if (homes_ && !expr->has_one_owner()) {
    uint32_t depth = homes_->depth(expr);
    if (depth < level - root_level_) solver_.set_level(root_level_ + depth);
  }
  if (const auto* literal = expr->as<Literal>()) {
    finish(expr, {literal_type(literal)});
    solver_.set_level(level);
    return;
  }
  if (solver_.level() != level) frames_.push_back({nullptr, level, 0});
  frames_.push_back({expr, 0, static_cast<uint32_t>(values_.size())});
}

TypeRef Inferencer::take(size_t index, const Expr* parent, uint32_t operand) {
  TypeRef type = take_deferred(index, parent, operand, {});
  require_deferred();
  return type;
}

TypeRef Inferencer::take_deferred(size_t index, const Expr* parent, uint32_t operand,
                                  std::span<const TypeRef> type_args) {
  const Value& value = values_[index];
  if (value.scheme == kNoScheme && !value.type->has_binder()) return value.type;
  const Expr* callee = parent != nullptr ? parent->operands()[operand].get() : nullptr;
  Span span = callee != nullptr ? use_span(callee, parent) : Span();
  size_t before = deferred_.size();
  TypeRef type = instantiate(value, type_args, span);
  if (operand == 0 && parent != nullptr && parent->is<Call>()) {
    for (size_t i = before; i < deferred_.size(); ++i)
      deferred_[i].site = static_cast<const Call*>(parent);
  } else if (const auto* global = callee == nullptr ? nullptr : callee->as<GlobalVar>()) {
    for (size_t i = before; i < deferred_.size(); ++i) deferred_[i].value = global;
  }
  if (callee != nullptr && (callee->is<Var>() || callee->is<GlobalVar>())) {
    occurrences_.push_back({parent, operand, callee, type});
  }
  return type;
}

void Inferencer::record(const Expr* expr, const Value& value) {
  if (value.scheme == kNoScheme && !value.type->has_incomplete()) {
    record_closed(expr, value.type);
    settling_.push_back(expr);
  } else {
    open_.emplace_back(expr, value);
  }
}

void Inferencer::record_closed(const Expr* expr, const TypeRef& type) {
  if (nodes_ == Nodes::kShared) {
    closed_.emplace_back(expr, type);
  } else if (expr->type() != type.get() || expr->settled()) {
    expr->set_type(type);
  }
}

void Inferencer::finish(const Expr* expr, Value value) {
  if (value.scheme == kNoScheme) value.type = solver_.zonk(value.type);
  record(expr, value);
  if (!expr->has_one_owner()) done_[expr] = value;
  values_.push_back(std::move(value));
}

bool Inferencer::visit_operands(Frame& frame, uint32_t end) {
  auto operands = frame.expr->operands();
  size_t depth = frames_.size();
  while (frame.step < end) {
    uint32_t i = frame.step++;
    visit(operands[i].get());
    if (frames_.size() != depth) return false;  // `frame` may have moved
  }
  return true;
}

void Inferencer::step() {
  Frame& frame = frames_.back();
  if (frame.expr == nullptr) {
    solver_.set_level(frame.step);
    frames_.pop_back();
    return;
  }
  switch (frame.expr->kind()) {
    case ExprKind::kCall:
      return step_call(frame, static_cast<const Call*>(frame.expr));
    case ExprKind::kLet:
      return step_let(frame, static_cast<const Let*>(frame.expr));
    case ExprKind::kFunction:
      return step_function(frame, static_cast<const Function*>(frame.expr));
    case ExprKind::kIf:
      return step_if(frame, static_cast<const If*>(frame.expr));
    case ExprKind::kMatch:
      return step_match(frame, static_cast<const Match*>(frame.expr));
    default:
      return step_simple(frame);
  }
}

// Nodes whose type follows from their operands' at once.
void Inferencer::step_simple(Frame& frame) {
  const Expr* expr = frame.expr;
  uint32_t count = static_cast<uint32_t>(expr->operands().size());
  if (!visit_operands(frame, count)) return;
  uint32_t base = frame.base;
  frames_.pop_back();
  solver_.set_span(expr->span());
  TypeRef type;
  switch (expr->kind()) {
    case ExprKind::kTuple: {
      std::vector<TypeRef> fields;
      fields.reserve(count);
      for (uint32_t i = 0; i < count; ++i) fields.push_back(take(base + i, expr, i));
      type = TupleType::make(std::move(fields));
      break;
    }
    case ExprKind::kTupleGetItem:
      type = projection_type(static_cast<const TupleGetItem*>(expr), base);
      break;
    case ExprKind::kRefCreate:
      type = RefType::make(take(base, expr, 0));
      break;
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite:
      type = access_type(expr, base);
      break;
    case ExprKind::kTempExpr:
      type = take(base, expr, 0);
      break;
    default:
      RELAY_UNREACHABLE("not a simple node");
  }
  solve();
  values_.resize(base);
  finish(expr, {std::move(type)});
}

TypeRef Inferencer::projection_type(const TupleGetItem* expr, uint32_t base) {
  const uint32_t index = expr->index();
  if (TypeRef field = field_of_scheme(values_[base], index, expr->span())) return field;
  TypeRef tuple = take(base, expr, 0);
  TypeRef known = solver_.resolve(tuple);
  const auto* fields = known->as<TupleType>();
  if (fields != nullptr && index < fields->fields().size()) return fields->fields()[index];
  Constraint c;
  c.relation = projection_relation();
  c.attrs = projection_attrs(index);
  c.args = {tuple, solver_.fresh(Kind::kType, expr->span())};
  c.span = expr->span();
  TypeRef type = c.args[1];
  constraints_.require(std::move(c));
  return type;
}

// The type of reading a reference or writing to it.
TypeRef Inferencer::access_type(const Expr* expr, uint32_t base) {
  const bool write = expr->is<RefWrite>();
  TypeRef ref = take(base, expr, 0);
  TypeRef known = solver_.resolve(ref);
  if (known->is<IncompleteType>()) {
    TypeRef made = RefType::make(solver_.fresh(Kind::kType, expr->span()));
    if (solver_.unify(known, made)) known = made;
  }
  const auto* cell = known->as<RefType>();
  if (cell == nullptr) {
    const Expr* place = expr->operands()[0].get();
    const bool told =
        solver_.has_failed(known) || (place->is<Var>() && !misused_.insert(place).second);
    if (!told) {
      sink_.add(Diagnostic::error(std::string(write ? "ref_write" : "ref_read") +
                                      " needs a reference, found " + display(solver_, ref),
                                  place_of(expr, 0)));
    }
    return write ? TupleType::make({}) : failed(expr->span());
  }
  if (!write) return cell->value();
  TypeRef value = take(base + 1, expr, 1);
  if (!solver_.unify(cell->value(), value)) {
    sink_.add(type_mismatch(solver_, "the value written into a reference", cell->value(), value,
                            place_of(expr, 1))
                  .note("the reference is " + display(solver_, ref), place_of(expr, 0)));
  }
  return TupleType::make({});
}

void Inferencer::step_if(Frame& frame, const If* branch) {
  if (!visit_operands(frame, 3)) return;
  uint32_t base = frame.base;
  frames_.pop_back();
  Span condition_span = use_span(branch->condition().get(), branch);
  solver_.set_span(condition_span);
  TypeRef condition = take(base, branch, 0);
  TypeRef wanted = TensorType::scalar(kBool);
  if (!solver_.unify(wanted, condition)) {
    TypeRef found = solver_.zonk(condition);
    Diagnostic diagnostic = Diagnostic::error(
        "if needs Tensor[(), bool], found " + display(solver_, found), place_of(branch, 0));
    diagnostic.of_rule("I1").note("this if chooses once, not for each element", branch->span());
    const auto* tensor = found->as<TensorType>();
    if (tensor != nullptr && tensor->has_dtype() && tensor->dtype() == kBool) {
      std::string text = source_text(branch->condition().get());
      diagnostic.help("write all(" + text + ") if every element must hold, any(" + text +
                      ") if one is enough");
    }
    sink_.add(std::move(diagnostic));
  }
  Span else_span = use_span(branch->else_branch().get(), branch);
  solver_.set_span(else_span);
  TypeRef yes = take(base + 1, branch, 1);
  TypeRef no = take(base + 2, branch, 2);
  TypeRef type = solver_.join(yes, no);
  if (!type) {
    Diagnostic diagnostic =
        Diagnostic::error("the branches of an if have different types: " + display(solver_, yes) +
                              " and " + display(solver_, no),
                          place_of(branch, 2));
    diagnostic.note("this branch is " + display(solver_, yes), place_of(branch, 1));
    explain(diagnostic, solver_);
    sink_.add(std::move(diagnostic));
    type = failed(branch->span());
  }
  solver_.settle_any();
  solve();
  values_.resize(base);
  finish(branch, {std::move(type)});
}

}  // namespace relay::inference
