#include <relay/vm/compiler/function_compiler.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/support/stop.h>
#include <relay/transform/fusion.h>
#include <relay/vm/compiler/accumulate.h>

namespace relay::vm {

FunctionCompiler::FunctionCompiler(ProgramBuilder& program, const relay::Function* root,
                                   std::string name, uint32_t number)
    : program_(program), name_(std::move(name)), regions_(root), scopes_(regions_) {
  if (name_.starts_with('@')) global_ = Name(name_.substr(1));
  function_numbers_[0] = number;
}

void FunctionCompiler::run() {
  add_unit(0, nullptr, name_, function_numbers_[0]);
  for (size_t i = 0; i < units_.size(); ++i) {
    unit_ = units_[i].get();
    code_.emplace(unit_->function);
    write_unit();
    program_.keep_source(unit_->number, unit_->function, unit_types());
    assign_registers(unit_->function);
    program_.executable().functions[unit_->number] = std::move(unit_->function);
  }
}

FunctionTypes FunctionCompiler::unit_types() const {
  FunctionTypes types;
  types.made = unit_->made;
  for (const VarRef& param : unit_->scope.function->params())
    types.params.emplace_back(param->type());
  for (const Entity& entity : scopes_.captures(unit_->node)) {
    types.captures.emplace_back(entity.var != nullptr ? entity.var->type()
                                                      : regions_.expr(entity.node)->type());
  }
  return types;
}

FunctionCompiler::Unit* FunctionCompiler::add_unit(uint32_t node, Unit* parent, std::string name,
                                                   uint32_t number) {
  auto unit = std::make_unique<Unit>();
  unit->node = node;
  unit->parent = parent;
  unit->number = number;
  const auto* function = static_cast<const relay::Function*>(regions_.expr(node));
  unit->scope = {function, name, parent == nullptr ? nullptr : &parent->scope};
  unit->function.name = std::move(name);
  for (const VarRef& param : function->params())
    unit->vars[param.get()] = Known::in_register(unit->function.num_registers++);
  unit->function.num_params = unit->function.num_registers;
  units_.push_back(std::move(unit));
  return units_.back().get();
}

void FunctionCompiler::write_unit() {
  code_->set_position(program_.position(regions_.expr(unit_->node)->span()));
  const std::vector<Entity>& captures = scopes_.captures(unit_->node);
  unit_->function.num_captures = static_cast<uint32_t>(captures.size());
  for (uint32_t i = 0; i < captures.size(); ++i) {
    Known value = Known::in_register(code_->emit_value(Op::kCapture, i));
    if (captures[i].var != nullptr) {
      unit_->vars[captures[i].var] = value;
    } else {
      unit_->nodes[captures[i].node] = value;
    }
  }
  check_parameters();
  std::vector<Task> tasks(1);
  tasks[0].region = regions_.region_of(unit_->node, 0);
  tasks[0].tail = true;
  while (!tasks.empty()) {
    if (tasks.back().is_choice) {
      advance_choice(tasks);
    } else {
      advance_region(tasks);
    }
  }
}

void FunctionCompiler::advance_region(std::vector<Task>& tasks) {
  Task& task = tasks.back();
  auto steps = regions_.steps(task.region);
  if (task.next_step == 0) {
    unit_->fields.clear();  // those of another branch
    task.tail_step = task.tail ? regions_.tail_step(task.region) : steps.size();
  }
  while (task.next_step < steps.size()) {
    const Regions::Step& step = steps[task.next_step++];
    const Expr* expr = regions_.expr(step.node);
    if (step.bind) {
      const auto* let = static_cast<const Let*>(expr);
      Known value = operand(step.node, 0);
      unit_->vars[let->var().get()] = value;
      check_let(let, value);
      continue;
    }
    if (expr->is<Let>()) continue;  // its value is its body's
    bool tail = task.next_step == task.tail_step + 1;
    if (expr->is<If>() || expr->is<Match>()) {
      Task choice;
      choice.is_choice = true;
      choice.node = step.node;
      choice.tail = tail;
      code_->set_position(program_.position(expr->span()));
      choice.condition = match_data(step.node, choice.fields);
      run_graph();
      choice.operand = 1;
      if (tail) {
        task.next_step = steps.size() + 1;
      } else {
        choice.result = code_->fresh();
        unit_->nodes[step.node] = Known::in_register(choice.result);
      }
      tasks.push_back(std::move(choice));
      return;
    }
    code_->set_position(program_.position(expr->span()));
    if (write_node(step.node, tail && !result_may_differ(expr))) {
      tasks.pop_back();
      return;
    }
  }
  if (task.next_step <= steps.size()) finish_region(task);  // else a branch in tail position did
  tasks.pop_back();
}

// The register that an if or match reads. A tuple that is only taken apart is not made: its number
// names no register, and `fields` has the registers of its fields.
uint32_t FunctionCompiler::match_data(uint32_t node, KnownFields& fields) {
  Known value = operand(node, 0);
  const auto* match = regions_.expr(node)->as<Match>();
  bool apart = match != nullptr && match->complete() && value.kind == Known::Kind::kTuple;
  if (apart) {
    for (const PatternRef& pattern : match->patterns())
      apart &= pattern->kind() == PatternKind::kTuple || pattern->kind() == PatternKind::kWildcard;
  }
  if (!apart) return to_register(value);
  uint32_t number = code_->fresh();
  for (uint32_t i = 0; i < value.fields->size(); ++i)
    fields[{number, i}] = to_register((*value.fields)[i]);
  return number;
}

void FunctionCompiler::finish_region(Task& task) {
  const Expr* root_expr = regions_.root_expr(task.region);
  uint32_t root = regions_.region(task.region).root;
  Known value = value_of(root_expr, root);
  if (task.tail) {
    check_result(regions_.result(task.region).expr, value);
    uint32_t reg = to_register(value);
    run_graph();
    code_->emit(Op::kReturn).a = reg;
    return;
  }
  uint32_t reg = to_register(value);
  run_graph();
  Instruction& move = code_->emit(Op::kMove);
  move.dst = task.result;
  move.a = reg;
}

void FunctionCompiler::advance_choice(std::vector<Task>& tasks) {
  Task& task = tasks.back();
  const Expr* expr = regions_.expr(task.node);
  const auto* match = expr->as<Match>();
  auto count = static_cast<uint32_t>(expr->operands().size());
  if (task.operand > 1) {  // a branch was just written
    if (!task.tail && task.operand < count) {
      task.ends.push_back(code_->here());
      code_->emit(Op::kJump);
    }
    if (match == nullptr && task.operand == 2) code_->at(task.miss).b = code_->here();
  }
  if (task.operand == count) {
    for (uint32_t end : task.ends) code_->at(end).a = code_->here();
    tasks.pop_back();
    return;
  }
  uint32_t operand = task.operand++;
  code_->set_position(program_.position(expr->span()));
  if (match == nullptr) {
    if (operand == 1) {
      task.miss = code_->here();
      code_->emit(Op::kBranch).a = task.condition;
    }
  } else {
    if (operand == 1) {
      task.clauses = write_match(
          *match, task.condition, program_.module(), *code_,
          [&](const Var* var) {
            auto [entry, added] = unit_->vars.try_emplace(var);
            if (added) entry->second = Known::in_register(code_->fresh());
            return entry->second.index;
          },
          task.fields);
      if (count == 1) code_->emit(Op::kNoMatch).a = task.condition;
    }
    // A clause that can never run is not written.
    while (operand < count && task.clauses[operand - 1].empty()) ++operand;
    task.operand = std::min(operand + 1, count);
    if (operand >= count) return;
    for (uint32_t jump : task.clauses[operand - 1]) code_->at(jump).a = code_->here();
    if (program_.open_shapes()) {
      const Pattern* pattern = match->patterns()[operand - 1].get();
      for (const Var* var : program_.flows().differing(pattern, match->data()->type())) {
        check_matched(var);
      }
    }
  }
  Task branch;
  branch.region = regions_.region_of(task.node, operand);
  branch.tail = task.tail;
  branch.result = task.result;
  tasks.push_back(std::move(branch));
}

// Writes the step of a node; true if it left the function.
bool FunctionCompiler::write_node(uint32_t node, bool tail) {
  stop_if_asked();
  const Expr* expr = regions_.expr(node);
  auto value = [&](Op op, uint32_t a = 0, uint32_t b = 0) {
    unit_->nodes[node] = Known::in_register(code_->emit_value(op, a, b));
  };
  switch (expr->kind()) {
    case ExprKind::kConstant:
    case ExprKind::kLiteral:
      return false;  // written where it is used
    case ExprKind::kTuple: {
      std::vector<Known> fields;
      for (size_t i = 0; i < expr->operands().size(); ++i) fields.push_back(operand(node, i));
      unit_->nodes[node] = Known::tuple(std::move(fields));
      return false;
    }
    case ExprKind::kTupleGetItem: {
      Known tuple = operand(node, 0);
      uint32_t index = static_cast<const TupleGetItem*>(expr)->index();
      if (tuple.kind == Known::Kind::kTuple) {
        unit_->nodes[node] = (*tuple.fields)[index];
      } else {
        unit_->nodes[node] = Known::in_register(field_of(to_register(tuple), index));
      }
      return false;
    }
    case ExprKind::kFunction:
      if (!scopes_.is_kernel(node)) write_closure(node);
      return false;
    case ExprKind::kRefCreate: {
      value(Op::kRefCreate, operand_register(node, 0));
      return false;
    }
    case ExprKind::kRefRead: {
      uint32_t ref = operand_register(node, 0);
      if (may_read_postponed(expr->operands()[0].get())) run_graph();
      value(Op::kRefRead, ref);
      check_open(expr, node, "the value read from a reference");
      return false;
    }
    case ExprKind::kRefWrite: {
      check_written(node, static_cast<const RefWrite*>(expr));
      write_reference(node, operand_register(node, 0));
      return false;
    }
    case ExprKind::kTempExpr:
      unit_->nodes[node] = operand(node, 0);
      return false;
    case ExprKind::kCall:
      return write_call(node, static_cast<const Call*>(expr), tail);
    default:
      RELAY_UNREACHABLE("no step for this node");
  }
}

void FunctionCompiler::write_closure(uint32_t node) {
  auto [number, added] = function_numbers_.try_emplace(node, 0);
  if (added) {
    const auto* function = static_cast<const relay::Function*>(regions_.expr(node));
    const Var* named = scopes_.name_of(function);
    std::string name = named == nullptr ? program_.name_of(function) : "%" + named->name().str();
    number->second = program_.add_function(name);
    add_unit(node, unit_, std::move(name), number->second);
  }
  const std::vector<Entity>& captures = scopes_.captures(node);
  if (captures.empty()) return;  // made where it is used
  std::vector<Known> values;
  for (const Entity& entity : captures) {
    values.push_back(entity.var != nullptr ? var_value(entity.var) : node_value(entity.node));
  }
  if (postpone_closure(node, values)) return;
  std::vector<uint32_t> args;
  for (const Known& value : values) args.push_back(to_register(value));
  uint32_t dst = code_->fresh();
  make_closure(node, args, dst);
  unit_->nodes[node] = Known::in_register(dst);
}

void FunctionCompiler::make_closure(uint32_t node, const std::vector<uint32_t>& captures,
                                    uint32_t dst) {
  Instruction& made = code_->emit(Op::kClosure, captures);
  made.a = function_numbers_[node];
  made.dst = dst;
}

bool FunctionCompiler::write_call(uint32_t node, const Call* call, bool tail) {
  const Expr* callee = call->callee().get();
  if (callee->is<relay::Op>()) {
    write_group(node, call, primitive_around(call));
    return false;
  }
  const auto* literal = callee->as<relay::Function>();
  if (literal != nullptr && scopes_.is_kernel(regions_.operand(node, 0))) {
    if (is_accumulation(*literal)) {
      write_accumulation(node);
      return false;
    }
    std::vector<uint32_t> operands;
    for (uint32_t i = 1; i < call->operands().size(); ++i) operands.push_back(i);
    write_group(node, call, {relay::FunctionRef(literal), std::move(operands)});
    return false;
  }
  auto finish = [&](Op op, uint32_t a, const std::vector<uint32_t>& args) {
    run_graph();
    code_->set_position(program_.position(call->span()));
    Instruction& made = code_->emit(op, args);
    made.a = a;
    if (op == Op::kTailCall || op == Op::kTailCallClosure) return;
    made.dst = code_->fresh();
    unit_->nodes[node] = Known::in_register(made.dst);
  };
  check_arguments(node, call);
  if (const auto* constructor = callee->as<Constructor>()) {
    std::vector<uint32_t> args = operand_registers(node, 1);
    finish(Op::kConstruct, program_.constructor(constructor), args);
    unit_->made.emplace(code_->here() - 1, TypeRef(call->type()));
    return false;
  }
  // A function that is known and captures nothing is called as it is.
  uint32_t known = kNone;
  if (const auto* global = callee->as<GlobalVar>()) {
    known = program_.global(global->name(), call->span());
  } else {
    Entity entity = scopes_.resolve(callee, regions_.operand(node, 0));
    uint32_t function = Regions::kNone;
    if (entity.var != nullptr) {
      function = scopes_.bound_function_node(entity.var);
    } else if (entity.node != Regions::kNone && regions_.expr(entity.node)->is<relay::Function>()) {
      function = entity.node;
    }
    if (function != Regions::kNone && scopes_.captures(function).empty()) {
      auto number = function_numbers_.find(function);
      if (number != function_numbers_.end()) known = number->second;
    }
  }
  if (known != kNone) {
    std::vector<uint32_t> args = operand_registers(node, 1);
    finish(tail ? Op::kTailCall : Op::kCall, known, args);
  } else {
    std::vector<uint32_t> args = operand_registers(node, 0);
    finish(tail ? Op::kTailCallClosure : Op::kCallClosure, 0, args);
  }
  if (tail) return true;
  check_open(call, node, "the result of this call");
  return false;
}

}  // namespace relay::vm
