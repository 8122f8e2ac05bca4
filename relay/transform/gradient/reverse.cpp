#include <relay/transform/gradient/reverse.h>

#include <algorithm>

#include <relay/ir/rewrite.h>
#include <relay/op/registry/barrier.h>
#include <relay/op/registry/gradient.h>
#include <relay/support/error.h>
#include <relay/transform/op_calls.h>

namespace relay::grad {

Reverse::Reverse(const Function* function, Loops* loops)
    : function_(function),
      loops_(loops),
      view_(ExprRef(function)),
      regions_(view_.scopes().regions()) {
  for (uint32_t id = 0; id < regions_.num_nodes(); ++id)
    types_.push_back(regions_.expr(id)->type());
  find_dataflow();
  varied_.resize(types_.size());
  values_.resize(types_.size());
  gradients_.resize(types_.size());
  for (uint32_t id = 0; id < regions_.num_nodes(); ++id) owners_.push_back(regions_.home(id));
  number_variables();
  if (loops_ != nullptr) find_savings();
}

// ---- Numbers -------------------------------------------------------------------------------

uint32_t Reverse::variable(const Var* var) {
  auto [entry, fresh] = variables_.insert(var);
  if (!fresh) return *entry;
  *entry = size();
  const uint32_t id = *entry;
  types_.push_back(var->type());
  varied_.push_back(false);
  values_.emplace_back();
  gradients_.emplace_back();
  owners_.push_back(kNone);
  return id;
}

// A let that binds a function keeps its variable: the function may mention it.
uint32_t Reverse::let_of(const Var* var) const {
  const uint32_t id = view_.id(var);
  const uint32_t binder = id == View::kNone ? id : view_.binder(id);
  if (binder == View::kNone || view_.kind(binder) != ExprKind::kLet) return kNone;
  const auto* let = static_cast<const Let*>(view_.expr(binder));
  return let->value()->is<Function>() ? kNone : view_.scopes().region_node(binder);
}

void Reverse::number_variables() {
  for (const VarRef& param : function_->params()) variable(param.get());
  auto visit = [&](const Expr* expr) {
    const auto* var = expr->as<Var>();
    if (var != nullptr && let_of(var) == kNone) variable(var);
  };
  for (uint32_t id : regions_.post_order()) {
    for (const ExprRef& operand : regions_.expr(id)->operands()) visit(operand.get());
  }
  // Lets are met before what uses them, so a name for a name takes one step.
  for (uint32_t region = 0; region < regions_.num_regions(); ++region) {
    for (const Regions::Step step : regions_.steps(region)) {
      if (!step.bind) continue;
      const auto* let = static_cast<const Let*>(regions_.expr(step.node));
      if (let_of(let->var().get()) == kNone) continue;
      const auto [id, expr] = origin(let->value().get(), regions_.operand(step.node, 0));
      *let_origins_.insert(let->var().get()).first = {id, expr};
    }
  }
}

std::pair<uint32_t, const Expr*> Reverse::origin(const Expr* expr, uint32_t node) const {
  for (;;) {
    if (node != kNone) {
      const auto* let = regions_.expr(node)->as<Let>();
      if (let == nullptr) return {node, expr};
      expr = let->body().get();
      node = regions_.operand(node, 1);
      continue;
    }
    const auto* var = expr->as<Var>();
    if (var == nullptr) return {kNone, expr};
    const Origin* known = let_origins_.find(var);
    if (known != nullptr) return {known->id, known->expr};
    const uint32_t id = let_of(var);
    if (id == kNone) return {variables_.at(var), expr};
    const auto* let = static_cast<const Let*>(regions_.expr(id));
    expr = let->value().get();
    node = regions_.operand(id, 0);
  }
}

uint32_t Reverse::target_of(const Expr* expr, uint32_t node) const {
  return origin(expr, node).first;
}

const ExprRef& Reverse::value_of(uint32_t id) {
  if (!values_[id]) {
    RELAY_CHECK(missing_, "a value that is not computed");
    ExprRef made = missing_(id);
    values_[id] = std::move(made);
  }
  return values_[id];
}

uint32_t Reverse::target(uint32_t node, size_t operand) const {
  return target_of(regions_.expr(node)->operands()[operand].get(), regions_.operand(node, operand));
}

uint32_t Reverse::result_of(uint32_t region) const {
  const Regions::Result result = regions_.result(region);
  return target_of(result.expr, result.node);
}

std::vector<uint32_t> Reverse::nodes_of(uint32_t region) const {
  std::vector<uint32_t> nodes;
  for (const Regions::Step step : regions_.steps(region)) {
    if (!step.bind && !regions_.expr(step.node)->is<Let>()) nodes.push_back(step.node);
  }
  return nodes;
}

// ---- What is dataflow ----------------------------------------------------------------------

bool Reverse::branches_are_dataflow(uint32_t id) const {
  for (size_t branch = 1; branch <= 2; ++branch) {
    const uint32_t region = regions_.region_of(id, branch);
    for (uint32_t node : nodes_of(region)) {
      if (!is_static(types_[node])) return false;
      const Operator* op = called_op(regions_.expr(node));
      if (op != nullptr && !op->pure()) return false;
      const bool plain = dataflow_[node] || regions_.expr(node)->is<Tuple>() ||
                         regions_.expr(node)->is<TupleGetItem>() ||
                         regions_.expr(node)->is<Constant>();
      if (!plain) return false;
    }
  }
  return true;
}

void Reverse::find_dataflow() {
  dataflow_.assign(types_.size(), false);
  for (uint32_t id : regions_.post_order()) {
    const Expr* expr = regions_.expr(id);
    if (expr->is<If>()) {
      dataflow_[id] = is_static(types_[id]) && branches_are_dataflow(id);
      continue;
    }
    const Operator* op = called_op(expr);
    const bool known = op != nullptr || (loops_ != nullptr && loops_->is_loop_call(expr));
    if (!known || !is_tensorial(types_[id])) continue;
    auto args = static_cast<const Call*>(expr)->args();
    dataflow_[id] = std::all_of(args.begin(), args.end(),
                                [](const ExprRef& arg) { return is_tensorial(arg->type()); });
  }
}

// ---- The forward pass ----------------------------------------------------------------------

void Reverse::note(const ExprRef& value, uint32_t region, const Type* type) {
  if (!value->is<Var>() && !value->is<Constant>())
    *homes_.insert(value.get()).first = {region, type};
}

void Reverse::make_forward(uint32_t id) {
  const Expr* expr = regions_.expr(id);
  if (expr->is<If>()) {
    forward_if(id);
    return;
  }
  const auto* projection = expr->as<TupleGetItem>();
  if (projection != nullptr && !is_tensorial(projection->tuple()->type())) {
    value_of(id);
    return;
  }
  std::vector<ExprRef> operands;
  bool any = false;
  for (size_t i = 0; i < expr->operands().size(); ++i) {
    const uint32_t operand = target(id, i);
    operands.push_back(operand == kNone ? expr->operands()[i] : value_of(operand));
    any = any || (operand != kNone && varied_[operand]);
  }
  varied_[id] = any && types_[id] != nullptr && leaf_table_.count(types_[id]) > 0;
  if (!forward_loop(id, operands)) values_[id] = rebuild(expr, operands);
  note(values_[id], regions_.home(id), types_[id]);
}

void Reverse::find_varied(uint32_t region) {
  for (uint32_t id : nodes_of(region)) {
    bool any = false;
    if (regions_.expr(id)->is<If>()) {
      for (size_t branch = 1; branch <= 2; ++branch) {
        const uint32_t inner = regions_.region_of(id, branch);
        find_varied(inner);
        const uint32_t result = result_of(inner);
        any = any || (result != kNone && varied_[result]);
      }
    } else {
      for (size_t i = 0; i < regions_.num_operands(id); ++i) {
        const uint32_t operand = target(id, i);
        any = any || (operand != kNone && varied_[operand]);
      }
    }
    varied_[id] = any && types_[id] != nullptr && leaf_table_.count(types_[id]) > 0;
  }
}

void Reverse::forward_region(uint32_t region) {
  for (uint32_t node : nodes_of(region)) make_forward(node);
}

// ---- The backward pass ---------------------------------------------------------------------

void Reverse::open_frame(uint32_t owner) { frames_.push_back({owner, {}, {}}); }

std::vector<Reverse::Outer> Reverse::close_frame() {
  std::vector<Outer> outer = std::move(frames_.back().outer);
  frames_.pop_back();
  return outer;
}

void Reverse::add(uint32_t id, uint32_t leaf, const ExprRef& gradient) {
  if (!gradient) return;
  // Tuples pass on what they get, so that each tensor has its own gradient.
  for (;;) {
    if (id == kNone || !varied_[id]) return;
    if (id >= regions_.num_nodes()) break;
    const Expr* expr = regions_.expr(id);
    if (expr->is<Tuple>()) {
      const auto& tuple = *types_[id]->as<TupleType>();
      const size_t field = leaf_table_.field_with(tuple, leaf);
      leaf -= leaf_table_.offset(tuple, field);
      id = target(id, field);
    } else if (const auto* projection = expr->as<TupleGetItem>()) {
      leaf +=
          leaf_table_.offset(*projection->tuple()->type()->as<TupleType>(), projection->index());
      id = target(id, 0);
    } else {
      break;
    }
  }
  Frame& frame = frames_.back();
  if (owners_[id] == frame.owner) {
    Leaves& leaves = gradients_[id];
    if (leaves.empty()) leaves.resize(leaf_table_.count(types_[id]));
    leaves[leaf] = sum(leaves[leaf], gradient);
    return;
  }
  auto [entry, fresh] = frame.known.try_emplace({id, leaf}, frame.outer.size());
  if (fresh) {
    frame.outer.push_back({id, leaf, gradient});
  } else {
    ExprRef& known = frame.outer[entry->second].gradient;
    known = sum(known, gradient);
  }
}

void Reverse::backward(std::span<const uint32_t> nodes) {
  for (size_t i = nodes.size(); i-- > 0;) {
    const uint32_t id = nodes[i];
    if (gradients_[id].empty()) continue;
    const Leaves gradients = std::move(gradients_[id]);
    gradients_[id].clear();
    if (regions_.expr(id)->is<If>()) {
      backward_if(id, gradients);
    } else if (loop_runs_.count(id) != 0) {
      backward_loop(id, gradients);
    } else if (is_checkpoint(regions_.expr(id))) {
      backward_checkpoint(id, gradients);
    } else if (regions_.expr(id)->is<Call>()) {
      backward_call(id, gradients);
    }
  }
}

namespace {

std::vector<ExprRef> gradients_at(const GradientCall& call, Span span) {
  try {
    return gradients_of(call);
  } catch (const Error& error) {
    if (error.diagnostics().empty() || error.diagnostics()[0].span.known()) throw;
    throw Error(error.what(), span);
  }
}

}  // namespace

void Reverse::backward_call(uint32_t id, const Leaves& gradients) {
  const auto* call = static_cast<const Call*>(regions_.expr(id));
  const Operator* op = called_op(call);
  std::vector<TypeRef> inputs;
  std::vector<ExprRef> args;
  for (size_t i = 0; i < call->args().size(); ++i) {
    inputs.emplace_back(call->args()[i]->type());
    const uint32_t operand = target(id, i + 1);
    args.push_back(operand == kNone ? call->args()[i] : value_of(operand));
  }
  // The gradient of each tensor of the result.
  std::vector<ExprRef> given;
  size_t next = 0;
  for_each_tensor(types_[id], values_[id], [&](const Type* tensor, const ExprRef&) {
    given.push_back(is_leaf(tensor) ? gradients[next++] : ExprRef());
  });
  const OpCall typed(op, call->attrs(), std::move(inputs), TypeRef(types_[id]));
  std::vector<ExprRef> found =
      gradients_at(GradientCall{typed, args, values_[id], given}, call->span());
  // One walk gives all new calls the place of this one, and keeps what they share.
  std::vector<ExprRef> some;
  for (const ExprRef& gradient : found) {
    if (gradient) some.push_back(gradient);
  }
  std::vector<ExprRef> old = args;
  for (const ExprRef& arg : args) {
    if (arg->is<Tuple>()) old.insert(old.end(), arg->operands().begin(), arg->operands().end());
  }
  old.push_back(values_[id]);
  for (const ExprRef& gradient : given) {
    if (gradient) old.push_back(gradient);
  }
  const ExprRef placed = place_calls(make_tuple(some), old, call->span());
  size_t k = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    const ExprRef gradient = placed->operands()[k++];
    const uint32_t operand = target(id, i + 1);
    uint32_t leaf = 0;
    for_each_tensor(call->args()[i]->type(), gradient,
                    [&](const Type* tensor, const ExprRef& value) {
                      if (is_leaf(tensor)) add(operand, leaf++, value);
                    });
  }
}

}  // namespace relay::grad
