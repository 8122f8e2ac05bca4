// From expressions to plans: the schedule of relay/ir/regions.h written out in a line.
#include <relay/eval/plan.h>

#include <relay/infer/runtime/declared_shapes.h>
#include <relay/ir/regions.h>
#include <relay/support/error.h>

namespace relay::eval {

/// Plans one global (or closed function) with all functions nested in it.
class Planner {
 public:
  Planner(Program& program, const Function* root, std::string name)
      : program_(program), name_(std::move(name)), regions_(root) {
    if (name_.starts_with('@')) global_ = Name(name_.substr(1));
  }

  Plan* run() {
    find_lets();
    add_unit(0, nullptr, name_);
    for (size_t i = 0; i < units_.size(); ++i) {
      unit_ = units_[i].get();
      emit_function();
    }
    for (const auto& unit : units_) mark_last_uses(*unit->plan);
    return units_[0]->plan;
  }

 private:
  // A function being planned.
  struct Unit {
    uint32_t node;  // in regions_
    Unit* parent;
    Plan* plan;
    FunctionScope scope;
    std::unordered_map<uint32_t, uint32_t> node_slots;
    std::unordered_map<const Var*, uint32_t> var_slots;
  };
  // A region being written, or the branches of an If or Match.
  struct Task {
    uint32_t region = 0;
    size_t next_step = 0;
    size_t tail_step = 0;
    bool tail = false;
    uint32_t result = kNoSlot;
    // Branches: the node, the next operand to write, and jumps to mend.
    bool is_choice = false;
    uint32_t node = 0;
    uint32_t operand = 0;
    uint32_t condition = kNoSlot;
    size_t miss = 0;  // instruction that jumps here when the last test failed
    std::vector<size_t> ends;
  };

  // Which function a let variable names: its own body may refer to itself.
  void find_lets() {
    for (uint32_t id = 0; id < regions_.num_nodes(); ++id) {
      if (const auto* let = regions_.expr(id)->as<Let>()) {
        if (!let->value()->is<Function>()) continue;
        self_of_[let->var().get()] = let->value().get();
        names_[let->value().get()] = let->var().get();
      }
    }
  }

  void add_unit(uint32_t node, Unit* parent, std::string name) {
    program_.plans_.push_back(std::make_unique<Plan>());
    auto unit = std::make_unique<Unit>();
    unit->node = node;
    unit->parent = parent;
    unit->plan = program_.plans_.back().get();
    const auto* function = static_cast<const Function*>(regions_.expr(node));
    unit->scope = {function, name, parent == nullptr ? nullptr : &parent->scope};
    unit->plan->name = std::move(name);
    unit->plan->span = function->span();
    unit->plan->num_params = static_cast<uint32_t>(function->params().size());
    for (const VarRef& param : function->params()) {
      unit->var_slots[param.get()] = unit->plan->num_slots++;
    }
    units_.push_back(std::move(unit));
  }

  static uint32_t fresh_slot(Unit* unit) { return unit->plan->num_slots++; }

  Instruction& emit(Code code, const Expr* expr, std::initializer_list<uint32_t> args = {}) {
    Plan& plan = *unit_->plan;
    Instruction instruction;
    instruction.code = code;
    instruction.first_arg = static_cast<uint32_t>(plan.args.size());
    instruction.num_args = static_cast<uint32_t>(args.size());
    if (expr != nullptr) instruction.span = expr->span();
    for (uint32_t slot : args) plan.args.push_back({slot});
    plan.code.push_back(instruction);
    plan.sources.push_back(expr);
    return plan.code.back();
  }

  // The slot of something defined in `unit` or outside of it; captured on the way where needed.
  template <class Key, class Find>
  uint32_t resolve(Unit* unit, const Key& key, Find find) {
    std::vector<Unit*> path;
    Unit* at = unit;
    uint32_t slot = kNoSlot;
    for (; at != nullptr; at = at->parent) {
      slot = find(at);
      if (slot != kNoSlot) break;
      path.push_back(at);
    }
    if (slot == kNoSlot) return kNoSlot;
    for (size_t i = path.size(); i-- > 0;) {
      uint32_t inner = fresh_slot(path[i]);
      path[i]->plan->captures.push_back(slot);
      path[i]->plan->capture_slots.push_back(inner);
      if constexpr (std::is_same_v<Key, uint32_t>) {
        path[i]->node_slots[key] = inner;
      } else {
        path[i]->var_slots[key] = inner;
      }
      slot = inner;
    }
    return slot;
  }

  uint32_t var_slot(const Var* var) {
    auto self = self_of_.find(var);
    uint32_t slot = resolve(unit_, var, [&](Unit* at) -> uint32_t {
      auto found = at->var_slots.find(var);
      if (found != at->var_slots.end()) return found->second;
      if (self != self_of_.end() && regions_.expr(at->node) == self->second) {
        if (at->plan->self == kNoSlot) at->plan->self = fresh_slot(at);
        return at->plan->self;
      }
      return kNoSlot;
    });
    if (slot == kNoSlot) {
      throw Error("%" + var->name().str() + " has no value here", var->span());
    }
    return slot;
  }

  uint32_t node_slot(uint32_t node) {
    uint32_t slot = resolve(unit_, node, [&](Unit* at) -> uint32_t {
      auto found = at->node_slots.find(node);
      return found == at->node_slots.end() ? kNoSlot : found->second;
    });
    RELAY_CHECK(slot != kNoSlot, "a node is used before its step");
    return slot;
  }

  uint32_t constant_slot(Value value, const Expr* expr) {
    Plan& plan = *unit_->plan;
    uint32_t slot = fresh_slot(unit_);
    Instruction& instruction = emit(Code::kConst, expr);
    instruction.dst = slot;
    instruction.a = static_cast<uint32_t>(plan.constants.size());
    plan.constants.push_back(std::move(value));
    return slot;
  }

  // The slot that holds operand i of a node.
  uint32_t operand_slot(uint32_t node, size_t i) {
    uint32_t child = regions_.operand(node, i);
    if (const auto* constant = regions_.expr(node)->operands()[i]->as<Constant>()) {
      Device device = program_.device_of(regions_.expr(node), i);
      if (!(device == kCpu) && constant->data().rank() > 0)
        return constant_slot(Value(constant->data().on(device)), constant);
    }
    return expr_slot(regions_.expr(node)->operands()[i].get(), child);
  }

  uint32_t expr_slot(const Expr* expr, uint32_t node) {
    while (const auto* let = expr->as<Let>()) {
      node = regions_.operand(node, 1);
      expr = let->body().get();
    }
    if (node != Regions::kNone) return node_slot(node);
    switch (expr->kind()) {
      case ExprKind::kVar:
        return var_slot(static_cast<const Var*>(expr));
      case ExprKind::kGlobalVar: {
        Plan& plan = *unit_->plan;
        uint32_t slot = fresh_slot(unit_);
        Instruction& instruction = emit(Code::kGlobal, expr);
        instruction.dst = slot;
        instruction.a = static_cast<uint32_t>(plan.functions.size());
        plan.functions.push_back(static_cast<const GlobalVar*>(expr)->name());
        return slot;
      }
      case ExprKind::kOp:
      case ExprKind::kConstructor:
        return wrap_callable(expr);
      default:
        RELAY_UNREACHABLE("an atom of unknown kind");
    }
  }

  // An operator or constructor used as a value: a function that calls it.
  uint32_t wrap_callable(const Expr* expr) {
    auto& wrapper = wrappers_[expr];
    if (wrapper == nullptr) {
      std::string name = expr->is<Op>() ? static_cast<const Op*>(expr)->op()->name().str()
                                        : static_cast<const Constructor*>(expr)->name().str();
      wrapper = program_.add(function_around(expr), name);
    }
    Plan& plan = *unit_->plan;
    uint32_t slot = fresh_slot(unit_);
    Instruction& instruction = emit(Code::kClosure, expr);
    instruction.dst = slot;
    instruction.a = static_cast<uint32_t>(plan.plans.size());
    plan.plans.push_back(wrapper);
    return slot;
  }

  // ---- Declared shapes (T15) ------------------------------------------------------------------

  Flows& flows() { return program_.flows(); }

  // Compares values; `slot_of` gives those that are not parameters.
  template <class SlotOf>
  void emit_check(const ShapeComparison& parts, const SlotOf& slot_of) {
    if (parts.empty()) return;
    Plan& plan = *unit_->plan;
    std::vector<uint32_t> slots;
    for (const DeclaredShape& part : parts.parts)
      slots.push_back(part.param != nullptr ? var_slot(part.param) : slot_of(part));
    Instruction& check = emit(Code::kCheck, nullptr);
    check.num_args = static_cast<uint32_t>(slots.size());
    check.a = static_cast<uint32_t>(plan.checks.size());
    check.span = parts.parts.back().span;
    for (uint32_t slot : slots) plan.args.push_back({slot});
    plan.checks.emplace_back(parts, program_.module(), flows());
  }

  void emit_check(const ShapeComparison& parts, uint32_t slot) {
    emit_check(parts, [slot](const DeclaredShape&) { return slot; });
  }

  void check_arguments(const Call* call, const std::vector<uint32_t>& slots, size_t first) {
    emit_check(compare_arguments(flows(), unit_->scope, call),
               [&](const DeclaredShape& part) { return slots[part.operand - first]; });
  }

  // The result of a function is compared where it is made: what another call gives in its place,
  // and has the type already, stays a tail call.
  bool result_may_differ(const Expr* value) {
    return flows().differ(value->type(), unit_->scope.function->ret_type().get());
  }

  void emit_return(const Expr* value, uint32_t slot) {
    emit_check(compare_result(flows(), unit_->scope, value), slot);
    emit(Code::kReturn, nullptr, {slot});
  }

  void emit_function() {
    emit_check(compare_parameters(flows(), unit_->scope, global_),
               [](const DeclaredShape&) { return kNoSlot; });
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

  void advance_region(std::vector<Task>& tasks) {
    Task& task = tasks.back();
    uint32_t region = task.region;
    auto steps = regions_.steps(region);
    if (task.next_step == 0) task.tail_step = task.tail ? regions_.tail_step(region) : steps.size();
    while (task.next_step < steps.size()) {
      const Regions::Step& step = steps[task.next_step++];
      const Expr* expr = regions_.expr(step.node);
      if (step.bind) {
        const auto* let = static_cast<const Let*>(expr);
        uint32_t slot = operand_slot(step.node, 0);
        unit_->var_slots[let->var().get()] = slot;
        emit_check(compare_let(flows(), unit_->scope, let), slot);
        continue;
      }
      if (expr->is<Let>()) continue;  // its value is its body's
      bool tail = task.next_step == task.tail_step + 1;
      if (expr->is<If>() || expr->is<Match>()) {
        Task choice;
        choice.is_choice = true;
        choice.node = step.node;
        choice.tail = tail;
        choice.result = fresh_slot(unit_);
        choice.condition = operand_slot(step.node, 0);
        choice.operand = 1;
        unit_->node_slots[step.node] = choice.result;
        bool done = tail;
        tasks.push_back(std::move(choice));
        if (done) tasks[tasks.size() - 2].next_step = steps.size() + 1;
        return;
      }
      if (emit_node(step.node, tail && !result_may_differ(expr))) {
        tasks.pop_back();
        return;
      }
    }
    if (task.next_step <= steps.size()) {  // not finished by a branch in tail position
      uint32_t value = expr_slot(regions_.root_expr(region), regions_.region(region).root);
      if (task.tail) {
        emit_return(regions_.result(region).expr, value);
      } else {
        emit(Code::kMove, nullptr, {value}).dst = task.result;
      }
    }
    tasks.pop_back();
  }

  void advance_choice(std::vector<Task>& tasks) {
    Task& task = tasks.back();
    Plan& plan = *unit_->plan;
    const Expr* expr = regions_.expr(task.node);
    auto count = static_cast<uint32_t>(expr->operands().size());
    if (task.operand > 1) {  // a branch was just written
      if (!task.tail && (task.operand < count || expr->is<Match>())) {
        task.ends.push_back(plan.code.size());
        emit(Code::kJump, nullptr);
      }
      if (expr->is<Match>()) {
        plan.code[task.miss].b = static_cast<uint32_t>(plan.code.size());
      } else if (task.operand == 2) {
        plan.code[task.miss].a = static_cast<uint32_t>(plan.code.size());
      }
    }
    if (task.operand == count) {
      if (expr->is<Match>()) emit(Code::kNoMatch, expr, {task.condition});
      for (size_t end : task.ends) plan.code[end].a = static_cast<uint32_t>(plan.code.size());
      tasks.pop_back();
      return;
    }
    uint32_t operand = task.operand++;
    if (const auto* match = expr->as<Match>()) {
      MatchClause clause{match->patterns()[operand - 1], {}};
      for (const VarRef& var : pattern_vars(clause.pattern.get())) {
        uint32_t slot = fresh_slot(unit_);
        unit_->var_slots[var.get()] = slot;
        clause.slots.emplace_back(var.get(), slot);
      }
      task.miss = plan.code.size();
      Instruction& test = emit(Code::kMatch, expr, {task.condition});
      test.a = static_cast<uint32_t>(plan.matches.size());
      const Pattern* pattern = clause.pattern.get();
      plan.matches.push_back(std::move(clause));
      for (const Var* var : flows().differing(pattern, match->data()->type())) {
        emit_check(compare_value(flows(), unit_->scope, var->annotation(), "%" + var->name().str(),
                                 var->span()),
                   unit_->var_slots[var]);
      }
    } else if (operand == 1) {
      task.miss = plan.code.size();
      emit(Code::kBranch, expr, {task.condition});
    }
    Task branch;
    branch.region = regions_.region_of(task.node, operand);
    branch.tail = task.tail;
    branch.result = task.result;
    tasks.push_back(std::move(branch));
  }

  // Writes the step of a node; true if it left the function.
  bool emit_node(uint32_t node, bool tail) {
    const Expr* expr = regions_.expr(node);
    Plan& plan = *unit_->plan;
    auto finish = [&](Code code, uint32_t a = 0) {
      finish_node(node, code, operand_slots(node, 0), a);
      return false;
    };
    switch (expr->kind()) {
      case ExprKind::kConstant:
        unit_->node_slots[node] =
            constant_slot(Value(static_cast<const Constant*>(expr)->data()), expr);
        return false;
      case ExprKind::kLiteral:
        unit_->node_slots[node] =
            constant_slot(literal_value(*static_cast<const Literal*>(expr)), expr);
        return false;
      case ExprKind::kTuple:
        return finish(Code::kTuple);
      case ExprKind::kTupleGetItem:
        return finish(Code::kProject, static_cast<const TupleGetItem*>(expr)->index());
      case ExprKind::kFunction: {
        auto named = names_.find(expr);
        add_unit(node, unit_, named == names_.end() ? "fn" : "%" + named->second->name().str());
        plan.plans.push_back(units_.back()->plan);
        finish_node(node, Code::kClosure, {}, static_cast<uint32_t>(plan.plans.size() - 1));
        return false;
      }
      case ExprKind::kRefCreate:
        return finish(Code::kRefCreate);
      case ExprKind::kRefRead:
        finish(Code::kRefRead);
        emit_check(compare_open(flows(), unit_->scope, expr, "the value read from a reference"),
                   unit_->node_slots[node]);
        return false;
      case ExprKind::kRefWrite: {
        const std::vector<uint32_t> slots = operand_slots(node, 0);
        emit_check(compare_written(flows(), unit_->scope, static_cast<const RefWrite*>(expr)),
                   slots[1]);
        finish_node(node, Code::kRefWrite, slots);
        return false;
      }
      case ExprKind::kTempExpr:
        return finish(Code::kMove);
      case ExprKind::kCall:
        return emit_call(node, static_cast<const Call*>(expr), tail);
      default:
        RELAY_UNREACHABLE("no step for this node");
    }
  }

  // Writes the step of a call; true if it left the function.
  bool emit_call(uint32_t node, const Call* call, bool tail) {
    Plan& plan = *unit_->plan;
    if (const auto* op = call->callee()->as<Op>()) {
      std::vector<uint32_t> slots = operand_slots(node, 1);
      plan.sites.push_back(
          std::make_unique<ApplySite>(op->op(), call->attrs(), program_.device_of(call)));
      finish_node(node, Code::kApply, slots, static_cast<uint32_t>(plan.sites.size() - 1));
      return false;
    }
    if (const auto* constructor = call->callee()->as<Constructor>()) {
      std::vector<uint32_t> slots = operand_slots(node, 1);
      check_arguments(call, slots, 1);
      plan.constructors.push_back(
          ConstructorInfo::intern(constructor->name(), constructor->type_name()->name(),
                                  static_cast<int32_t>(constructor->ctor_tag()),
                                  static_cast<uint32_t>(constructor->inputs().size())));
      finish_node(node, Code::kConstruct, slots,
                  static_cast<uint32_t>(plan.constructors.size() - 1));
      return false;
    }
    const auto* global = call->callee()->as<GlobalVar>();
    const size_t first = global != nullptr ? 1 : 0;
    std::vector<uint32_t> slots = operand_slots(node, first);
    check_arguments(call, slots, first);
    uint32_t function = 0;
    if (global != nullptr) {
      function = static_cast<uint32_t>(plan.functions.size());
      plan.functions.push_back(global->name());
    }
    const Code code = global != nullptr ? Code::kCallGlobal : Code::kCall;
    finish_node(node, code, slots, function).tail = tail;
    if (tail) return true;
    emit_check(compare_open(flows(), unit_->scope, call, "the result of this call"),
               unit_->node_slots[node]);
    return false;
  }

  std::vector<uint32_t> operand_slots(uint32_t node, size_t from) {
    std::vector<uint32_t> slots;
    for (size_t i = from; i < regions_.expr(node)->operands().size(); ++i)
      slots.push_back(operand_slot(node, i));
    return slots;
  }

  // Writes an instruction that reads slots and gives the node's value.
  Instruction& finish_node(uint32_t node, Code code, std::span<const uint32_t> slots,
                           uint32_t a = 0) {
    Plan& plan = *unit_->plan;
    auto first = static_cast<uint32_t>(plan.args.size());
    for (uint32_t slot : slots) plan.args.push_back({slot});
    Instruction& instruction = emit(code, regions_.expr(node));
    instruction.first_arg = first;
    instruction.num_args = static_cast<uint32_t>(slots.size());
    instruction.dst = fresh_slot(unit_);
    instruction.a = a;
    unit_->node_slots[node] = instruction.dst;
    return instruction;
  }

  Program& program_;
  std::string name_;
  Name global_;
  Regions regions_;
  std::unordered_map<const Var*, const Expr*> self_of_;
  std::unordered_map<const Expr*, const Var*> names_;  // of functions bound by lets
  std::unordered_map<const Expr*, Plan*> wrappers_;
  std::vector<std::unique_ptr<Unit>> units_;
  Unit* unit_ = nullptr;
};

Program::Program(const Module& module, Device device)
    : module_(plan_devices(module, DeviceNeed::kUsable)), device_(device) {
  if (uses_devices(module_)) devices_ = std::make_unique<Devices>(module_);
}

Device Program::device_of(const Expr* call) const {
  return devices_ == nullptr ? device_ : devices_->of_call(call).value_or(device_);
}

Device Program::device_of(const Expr* parent, size_t operand) const {
  return devices_ != nullptr && devices_->has_tensor(parent, operand)
             ? devices_->of(parent, operand)
             : device_;
}

Plan* Program::add(const FunctionRef& function, std::string name) {
  functions_.push_back(function);
  return Planner(*this, function.get(), std::move(name)).run();
}

Plan* Program::global(Name name, Span span) {
  auto [entry, added] = globals_.try_emplace(name, nullptr);
  if (added || entry->second == nullptr) {
    const Function* function = module_.function(name);
    if (function == nullptr) throw Error("there is no function @" + name.str(), span);
    Plan* plan = add(FunctionRef(function), "@" + name.str());
    globals_[name] = plan;
    return plan;
  }
  return entry->second;
}

}  // namespace relay::eval
