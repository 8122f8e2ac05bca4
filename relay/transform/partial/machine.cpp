#include <relay/transform/partial/machine.h>

#include <algorithm>
#include <utility>

#include <relay/eval/eval.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/program/call_graph.h>
#include <relay/program/view.h>
#include <relay/support/error.h>
#include <relay/transform/fusion.h>
#include <relay/transform/literals.h>

namespace relay::partial {
namespace {

constexpr int64_t kMaxElements = 1 << 16;  // of a constant that is computed
constexpr int64_t kMaxComputed = 1 << 24;  // of all that one function computes

bool compiled_elsewhere(const Function& function) {
  if (!function.attrs()) return false;
  for (const char* name : {"Primitive", "Compiler", "Extern", "SkipOptimization"}) {
    if (!dict_attr(function.attrs(), name).is_none()) return true;
  }
  return false;
}

// Function literals whose value mentions the variable that a let gives it.
void find_recursive_literals(const View& view, std::unordered_set<const Function*>& found) {
  for (uint32_t id = 0; id < view.size(); ++id) {
    const auto* let = view.expr(id)->as<Let>();
    const auto* literal = let == nullptr ? nullptr : let->value()->as<Function>();
    if (literal == nullptr) continue;
    auto free = view.free_variables(view.operands(id)[0]);
    if (std::find(free.begin(), free.end(), view.id(let->var().get())) != free.end())
      found.insert(literal);
  }
}

std::optional<Value> tensors(const Known& value) {
  if (value.kind == Known::Kind::kTensor) return Value(value.tensor);
  if (value.kind != Known::Kind::kTuple) return std::nullopt;
  std::vector<Value> fields;
  for (const Known* field : value.fields) {  // as deep as an operator's type
    std::optional<Value> known =
        field->kind == Known::Kind::kTensor ? tensors(*field) : std::nullopt;
    if (!known) return std::nullopt;
    fields.push_back(std::move(*known));
  }
  return Value::tuple(std::move(fields));
}

// The number of elements that the result may have, by the type that was inferred.
bool small_enough(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    return std::all_of(tuple->fields().begin(), tuple->fields().end(),
                       [](const TypeRef& field) { return small_enough(field.get()); });
  }
  std::optional<int64_t> count = num_elements(type);
  return count && *count <= kMaxElements;
}

// An integer of rank 0.
std::optional<int64_t> integer(const Known& value) {
  if (value.kind != Known::Kind::kTensor || value.tensor.rank() != 0) return std::nullopt;
  return value.tensor.dtype().is_integer() ? std::optional(value.tensor.item_as_int64())
                                           : std::nullopt;
}

bool differs(const Known& now, const Known& before) {
  if (!is_static(now)) return false;
  if (now.kind != before.kind) return true;
  if (now.kind == Known::Kind::kTensor) return !bit_equal(now.tensor, before.tensor);
  return &now != &before && now.kind != Known::Kind::kGlobal;
}

// Something that cannot go on for ever.
bool became_smaller(const Known& now, const Known& before) {
  if (now.kind != before.kind) return false;
  if (now.kind == Known::Kind::kData) return now.size < before.size;
  std::optional<int64_t> a = integer(now);
  std::optional<int64_t> b = integer(before);
  return a && b && *a >= 0 && *a < *b;
}

}  // namespace

Machine::Machine(const Module& module, const Effects& effects, Limits limits)
    : module_(module), effects_(effects), limits_(limits) {
  CallGraph graph(module);
  for (const auto& entry : module.functions()) {
    const Function* function = entry.function.get();
    if (compiled_elsewhere(*function) || has_open_literals(function)) opaque_.insert(function);
    if (graph.is_recursive(entry.name)) recursive_.insert(function);
    find_recursive_literals(View(entry.function), recursive_);
  }
}

FunctionRef Machine::run(const FunctionRef& function) {
  reset();
  root_ = function;
  done_ = function;
  for (const TypeVarRef& param : function->type_params()) type_params_.insert(param.get());
  if (opaque_.count(function.get()) > 0) return function;
  Scope* scope = values_.add_scope(nullptr);
  open_block();
  std::vector<Known*> arguments;
  for (const VarRef& param : function->params()) {
    arguments.push_back(values_.unknown(param, blocks_.back().id));
    scope->variables[param.get()] = arguments.back();
  }
  active_[function.get()].push_back(activations_.size());
  activations_.push_back({function.get(), std::move(arguments), control_});
  frames_.push_back({function->body().get(), scope, Then::kRoot});
  while (!frames_.empty()) {
    if (++steps_ > limits_.max_steps) return {};
    Frame& frame = frames_.back();
    if (frame.result != nullptr) {
      finish(frame.result);
      continue;
    }
    if (frame.waiting != nullptr) {
      deliver(std::exchange(frame.waiting, nullptr));
      continue;
    }
    const auto* let = frame.at->as<Let>();
    const Expr* value = let == nullptr ? frame.at : let->value().get();
    if (Known* known = step(value, frame.scope, let == nullptr ? nullptr : let->var().get()))
      deliver(known);
  }
  return done_;
}

void Machine::reset() {
  values_ = Values();
  frames_.clear();
  activations_.clear();
  active_.clear();
  blocks_.clear();
  open_.clear();
  joins_.clear();
  store_.clear();
  control_ = 0;
  written_ = steps_ = computed_ = 0;
  type_params_.clear();
}

// The step that the last frame is at has this value.
void Machine::deliver(Known* value) {
  Frame& frame = frames_.back();
  const auto* let = frame.at->as<Let>();
  if (let == nullptr) {
    frame.result = value;
    return;
  }
  const Var& var = *let->var();
  if (var.annotation() && can_write(var.annotation()) && var.type() != let->value()->type()) {
    const size_t at = frames_.size() - 1;
    if (!ready(value)) {
      frames_[at].waiting = value;
      return;
    }
    value = emit(atom(value), var.annotation());
  }
  frame.scope->variables[&var] = value;
  frame.at = let->body().get();
}

void Machine::finish(Known* value) {
  const Then then = frames_.back().then;
  if (then == Then::kPass || then == Then::kReturn) {
    frames_.pop_back();
    if (then == Then::kReturn) {
      active_[activations_.back().function].pop_back();
      activations_.pop_back();
    }
    deliver(value);
    return;
  }
  if (!ready(value)) return;
  ExprRef result = atom(value);
  switch (then) {
    case Then::kBranch:
      finish_branch(result);
      return;
    case Then::kLiteral:
      finish_literal(result);
      return;
    default:
      done_ = with_body(root_, close_block(result));
      active_[root_.get()].pop_back();
      activations_.pop_back();
      store_.clear();
      frames_.pop_back();
  }
}

Known* Machine::operand(const Expr* expr, const Scope* scope) {
  switch (expr->kind()) {
    case ExprKind::kVar:
      for (; scope != nullptr; scope = scope->around) {
        auto found = scope->variables.find(static_cast<const Var*>(expr));
        if (found != scope->variables.end()) return found->second;
      }
      RELAY_UNREACHABLE("a variable that is not bound");
    case ExprKind::kConstant: {
      Known* value = values_.add(Known::Kind::kTensor);
      value->tensor = static_cast<const Constant*>(expr)->data();
      value->atom = ExprRef(expr);
      return value;
    }
    case ExprKind::kGlobalVar: {
      const Function* function = module_.function(static_cast<const GlobalVar*>(expr)->name());
      Known* value = values_.unknown(ExprRef(expr), Known::kEverywhere);
      if (function != nullptr && opaque_.count(function) == 0) {
        value->kind = Known::Kind::kGlobal;
        value->function = function;
      }
      return value;
    }
    case ExprKind::kConstructor: {
      Known* value = values_.add(Known::Kind::kConstructor);
      value->constructor = static_cast<const Constructor*>(expr);
      value->atom = ExprRef(expr);
      return value;
    }
    default:
      return values_.unknown(ExprRef(expr), Known::kEverywhere);
  }
}

Known* Machine::step(const Expr* expr, Scope* scope, const Var* into) {
  switch (expr->kind()) {
    case ExprKind::kTuple: {
      Known* tuple = values_.add(Known::Kind::kTuple);
      for (const ExprRef& field : expr->operands())
        tuple->fields.push_back(operand(field.get(), scope));
      return tuple;
    }
    case ExprKind::kTupleGetItem: {
      const auto& item = static_cast<const TupleGetItem&>(*expr);
      Known* tuple = operand(item.tuple().get(), scope);
      if (tuple->kind == Known::Kind::kTuple) return tuple->fields[item.index()];
      return emit(make_projection(atom(tuple), item.index(), expr->span()));
    }
    case ExprKind::kFunction: {
      const auto* function = static_cast<const Function*>(expr);
      if (is_primitive(function) || has_open_literals(function))
        return emit(literal_as_it_is(*function, scope));
      Known* closure = values_.add(Known::Kind::kClosure);
      closure->function = function;
      closure->scope = scope;
      closure->name = into == nullptr ? Name("f") : into->name();
      // Its own name is in scope before it is called.
      if (into != nullptr) scope->variables[into] = closure;
      return closure;
    }
    case ExprKind::kCall:
      return call(static_cast<const Call&>(*expr), scope);
    case ExprKind::kIf:
      return choose(static_cast<const If&>(*expr), scope);
    case ExprKind::kMatch:
      return match(static_cast<const Match&>(*expr), scope);
    case ExprKind::kRefCreate:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite:
      return reference(expr, scope);
    default:
      return operand(expr, scope);
  }
}

// ---- Calls ------------------------------------------------------------------------------------

Known* Machine::call(const Call& call, Scope* scope) {
  std::vector<Known*> arguments;
  for (const ExprRef& arg : call.args()) arguments.push_back(operand(arg.get(), scope));
  if (call.callee()->is<Op>()) return call_op(call, arguments);
  Known* callee = operand(call.callee().get(), scope);
  switch (callee->kind) {
    case Known::Kind::kConstructor: {
      Known* data = values_.add(Known::Kind::kData);
      data->constructor = callee->constructor;
      for (const Known* argument : arguments)
        data->size = std::min<uint64_t>(data->size + argument->size, UINT64_MAX / 2);
      data->fields = std::move(arguments);
      return data;
    }
    case Known::Kind::kClosure:
    case Known::Kind::kGlobal:
      if (callee->function->params().size() == arguments.size() &&
          unfolds(*callee->function, arguments)) {
        unfold(*callee, call, arguments);
        return nullptr;
      }
      return residual_call(call, callee, arguments);
    default:
      return residual_call(call, callee, arguments);
  }
}

Known* Machine::call_op(const Call& call, const std::vector<Known*>& arguments) {
  const Operator* op = static_cast<const Op*>(call.callee().get())->op();
  std::vector<Value> values;
  if (op->pure() && quantised().find(op) == nullptr && devices().find(op) == nullptr &&
      small_enough(call.type()) && computed_ < kMaxComputed) {
    for (const Known* argument : arguments) {
      std::optional<Value> value = tensors(*argument);
      if (!value) break;
      values.push_back(std::move(*value));
    }
  }
  if (values.size() == arguments.size() && !arguments.empty()) {
    try {
      Value result = apply_op(op, call.attrs(), values, call.span());
      if (result.is_tensor()) {
        computed_ += result.array().size();
        Known* known = values_.add(Known::Kind::kTensor);
        known->tensor = result.array();
        return known;
      }
    } catch (const Error&) {
      // It fails when the program runs, if it ever gets there.
    }
  }
  for (Known* argument : arguments) {
    if (!ready(argument)) return nullptr;
  }
  std::vector<ExprRef> args;
  for (Known* argument : arguments) args.push_back(atom(argument));
  if (!op->pure()) store_.clear();
  return emit(make_call(call.callee(), args, call.attrs(), {}, call.span()));
}

// A literal that is not evaluated. Each call of the function around it writes one, with variables
// of its own; the one that stands in the function itself stays.
ExprRef Machine::literal_as_it_is(const Function& function, Scope* scope) {
  std::unordered_map<const Var*, ExprRef> values;
  for (const VarRef& var : free_vars(&function)) {
    ExprRef value = atom(operand(var.get(), scope));
    if (value.get() != var.get()) values.emplace(var.get(), std::move(value));
  }
  ExprRef literal = values.empty() ? ExprRef(&function) : substitute(ExprRef(&function), values);
  return activations_.size() == 1 ? literal : copy_with_fresh_vars(literal);
}

bool Machine::unfolds(const Function& function, const std::vector<Known*>& arguments) const {
  if (steps_ > limits_.max_steps / 2 || opaque_.count(&function) > 0) return false;
  auto found = active_.find(&function);
  if (found == active_.end() || found->second.empty()) {
    // A loop over what is not known would be unrolled by one round for nothing.
    return recursive_.count(&function) == 0 ||
           std::any_of(arguments.begin(), arguments.end(),
                       [](const Known* argument) { return is_static(*argument); });
  }
  if (static_cast<int64_t>(found->second.size()) > limits_.max_unfold) return false;
  const Activation& last = activations_[found->second.back()];
  const bool decided = last.control == control_;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool goes_on = decided ? differs(*arguments[i], *last.arguments[i])
                                 : became_smaller(*arguments[i], *last.arguments[i]);
    if (goes_on) return true;
  }
  return false;
}

void Machine::unfold(const Known& closure, const Call& call, const std::vector<Known*>& arguments) {
  const Function& function = *closure.function;
  Scope* scope = values_.add_scope(closure.scope);
  for (size_t i = 0; i < arguments.size(); ++i) {
    scope->variables[function.params()[i].get()] =
        converted(*function.params()[i], call.args()[i]->type(), arguments[i]);
  }
  active_[&function].push_back(activations_.size());
  activations_.push_back({&function, arguments, control_});
  frames_.push_back({function.body().get(), scope, Then::kReturn});
}

// A parameter's annotation may convert (`?` to a known extent); a let keeps that.
Known* Machine::converted(const Var& var, const Type* from, Known* value) {
  const bool converts = var.annotation() && var.annotation()->closed() && from != nullptr &&
                        from->closed() && var.type() != from;
  if (!converts || !has_atom(*value)) return value;
  return emit(atom(value), var.annotation());
}

Known* Machine::residual_call(const Call& call, Known* callee,
                              const std::vector<Known*>& arguments) {
  if (!ready(callee)) return nullptr;
  for (Known* argument : arguments) {
    if (!ready(argument)) return nullptr;
  }
  std::vector<ExprRef> args;
  for (Known* argument : arguments) args.push_back(atom(argument));
  if (effects_.acts(&call)) store_.clear();
  const bool closed = std::all_of(call.type_args().begin(), call.type_args().end(),
                                  [](const TypeRef& type) { return type->closed(); });
  return emit(make_call(atom(callee), args, call.attrs(),
                        closed ? call.type_args() : std::vector<TypeRef>(), call.span()));
}

}  // namespace relay::partial
