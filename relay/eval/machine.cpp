// Runs plans: frames on a heap stack, tail calls in place.
#include <relay/eval/eval.h>

#include <deque>

#include <relay/eval/plan.h>
#include <relay/eval/stack.h>
#include <relay/infer/runtime/type_checks.h>
#include <relay/runtime/format.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/typed_closure.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>

namespace relay::eval {

namespace {

const char kEvalClosure = 0;

/// A function value: its code and its captured values. Keeps the program alive.
class EvalClosure final : public TypedClosure {
 public:
  EvalClosure(std::shared_ptr<Program> program, const Plan* plan, std::vector<Value> captured)
      : TypedClosure(&kEvalClosure),
        program(std::move(program)),
        plan(plan),
        captured(std::move(captured)) {}
  std::string name() const override { return plan->name; }
  Ref<Closure> with_type(KnownType type) const override {
    auto typed = Ref<EvalClosure>::adopt(new EvalClosure(program, plan, captured));
    typed->type_ = std::move(type);
    return Ref<Closure>(typed);
  }

  const std::shared_ptr<Program> program;
  const Plan* const plan;
  const std::vector<Value> captured;
};

const EvalClosure& as_closure(const Value& value) {
  if (!value.is_closure()) {
    throw Error(std::string("cannot call ") + kind_name(value.kind()));
  }
  const Closure* closure = value.closure();
  if (closure->kind() != &kEvalClosure) throw Error("cannot call a closure of another executor");
  return *static_cast<const EvalClosure*>(closure);
}

// Binds the variables of a pattern; false if the value has another form.
bool fits(const MatchClause& clause, const Value& value, Value* slots) {
  std::vector<std::pair<const Pattern*, const Value*>> stack{{clause.pattern.get(), &value}};
  std::vector<std::pair<const Var*, const Value*>> bound;
  while (!stack.empty()) {
    auto [pattern, at] = stack.back();
    stack.pop_back();
    switch (pattern->kind()) {
      case PatternKind::kWildcard:
        continue;
      case PatternKind::kVar:
        bound.emplace_back(pattern->var().get(), at);
        continue;
      case PatternKind::kConstructor:
        if (at->constructor()->name != pattern->constructor()->name()) return false;
        break;
      case PatternKind::kTuple:
        break;
    }
    auto fields = pattern->fields();
    for (size_t i = 0; i < fields.size(); ++i) stack.push_back({fields[i].get(), &at->field(i)});
  }
  for (const auto& [var, slot] : clause.slots) {
    for (const auto& [name, at] : bound) {
      if (name == var) slots[slot] = *at;
    }
  }
  return true;
}

class Machine {
 public:
  explicit Machine(std::shared_ptr<Program> program, const EvalWatch* watch = nullptr)
      : program_(std::move(program)), watch_(watch) {}
  ~Machine() {
    while (!frames_.empty()) pop();
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Value run(const Plan* plan, const Value* closure, std::span<const Value> arguments) {
    if (arguments.size() != plan->num_params) wrong_count(*plan, arguments.size());
    push(plan, closure == nullptr ? Value() : *closure, kNoSlot, {});
    for (size_t i = 0; i < arguments.size(); ++i) slots()[i] = arguments[i];
    try {
      return loop();
    } catch (const RuntimeError& error) {
      fail(error.diagnostics());
    } catch (const Error& error) {
      fail(error.diagnostics());
    }
  }

 private:
  struct Frame {
    const Plan* plan;
    SlotStack::Slots slots;
    uint32_t pc;
    uint32_t dst;                      // slot of the caller that receives the result
    Span call;                         // the call in the caller
    std::shared_ptr<Program> program;  // set when the function is of another program
  };

  Value* slots() { return frames_.back().slots.begin; }

  [[noreturn]] static void wrong_count(const Plan& plan, size_t found) {
    throw Error(plan.name + " takes " + std::to_string(plan.num_params) +
                (plan.num_params == 1 ? " argument" : " arguments") + ", found " +
                std::to_string(found));
  }

  void push(const Plan* plan, const Value& closure, uint32_t dst, Span call) {
    SlotStack::Slots slots =
        room(frames_.empty() ? nullptr : &frames_.back().slots, plan->num_slots);
    frames_.push_back({plan, slots, 0, dst, call, nullptr});
    enter(closure);
  }

  void pop() {
    SlotStack::pop(frames_.back().slots);
    frames_.pop_back();
  }

  // Puts captured values and the closure itself into the slots of the top frame.
  void enter(const Value& closure) {
    if (!closure) return;
    const Plan& plan = *frames_.back().plan;
    const EvalClosure& callee = as_closure(closure);
    if (callee.program != program_) frames_.back().program = callee.program;
    Value* to = slots();
    for (size_t i = 0; i < plan.capture_slots.size(); ++i)
      to[plan.capture_slots[i]] = callee.captured[i];
    if (plan.self != kNoSlot) to[plan.self] = closure;
  }

  SlotStack::Slots room(const SlotStack::Slots* top, size_t count) {
    SlotStack::Slots slots = stack_.push(top, count, frames_.size() * sizeof(Frame));
    if (slots.begin == nullptr && count > 0) {
      throw RuntimeError(too_deep_text(frames_.size(), stack_limit()));
    }
    return slots;
  }

  Program& program() { return frames_.back().program ? *frames_.back().program : *program_; }

  // Calls with the arguments in args_; a tail call reuses the frame.
  void call(const Plan* plan, const Value& closure, const Instruction& at) {
    if (args_.size() != plan->num_params) wrong_count(*plan, args_.size());
    if (at.tail) {
      Frame& frame = frames_.back();
      Value callee = closure;  // may live in a slot
      std::shared_ptr<Program> keep = frame.program;
      SlotStack::pop(frame.slots);
      frame.slots.count = 0;
      frame.slots = room(&frame.slots, plan->num_slots);
      frame.plan = plan;
      frame.pc = 0;
      enter(callee);
    } else {
      push(plan, closure, at.dst, at.span);
    }
    Value* to = slots();
    for (size_t i = 0; i < args_.size(); ++i) to[i] = std::move(args_[i]);
    args_.clear();
  }

  void take_args(const Plan& plan, const Instruction& at) {
    args_.clear();
    Value* from = slots();
    for (uint32_t k = 0; k < at.num_args; ++k) {
      const Argument& argument = plan.args[at.first_arg + k];
      Value& slot = from[argument.slot];
      if (!slot) throw RuntimeError("a value is used before it is computed");
      if (argument.last) {
        args_.push_back(std::move(slot));
        slot = Value();
      } else {
        args_.push_back(slot);
      }
    }
  }

  Value loop() {
    for (;;) {
      stop_if_asked();
      const Plan& plan = *frames_.back().plan;
      const Instruction& at = plan.code[frames_.back().pc++];
      if (step_without_arguments(plan, at)) continue;
      take_args(plan, at);
      if (at.code == Code::kReturn) {
        Value result = std::move(args_[0]);
        args_.clear();
        uint32_t dst = frames_.back().dst;
        pop();
        if (frames_.empty()) return result;
        slots()[dst] = std::move(result);
        seen();
      } else {
        step(plan, at);
      }
      args_.clear();
    }
  }

  // False if the instruction takes arguments.
  bool step_without_arguments(const Plan& plan, const Instruction& at) {
    switch (at.code) {
      case Code::kConst:
        slots()[at.dst] = plan.constants[at.a];
        return true;
      case Code::kGlobal: {
        Plan* target = program().global(plan.functions[at.a], at.span);
        slots()[at.dst] = make_closure(target, {});
        return true;
      }
      case Code::kClosure: {
        Plan* target = plan.plans[at.a];
        std::vector<Value> captured;
        for (uint32_t slot : target->captures) captured.push_back(slots()[slot]);
        slots()[at.dst] = make_closure(target, std::move(captured));
        return true;
      }
      case Code::kJump:
        frames_.back().pc = at.a;
        return true;
      case Code::kMatch: {
        Value* frame = slots();
        Value data = frame[plan.args[at.first_arg].slot];
        if (!fits(plan.matches[at.a], data, frame)) frames_.back().pc = at.b;
        return true;
      }
      default:
        return false;
    }
  }

  // Runs an instruction on the arguments in args_.
  void step(const Plan& plan, const Instruction& at) {
    switch (at.code) {
      case Code::kMove:
        slots()[at.dst] = std::move(args_[0]);
        break;
      case Code::kTuple:
        slots()[at.dst] = Value::tuple(std::span(args_));
        break;
      case Code::kProject:
        slots()[at.dst] = args_[0].field(at.a);
        seen();
        break;
      case Code::kApply:
        slots()[at.dst] = plan.sites[at.a]->apply(args_);
        seen();
        break;
      case Code::kConstruct:
        check_arity(*plan.constructors[at.a]);
        slots()[at.dst] = Value::data(plan.constructors[at.a], std::span(args_));
        break;
      case Code::kCallGlobal:
        call(program().global(plan.functions[at.a], at.span), Value(), at);
        break;
      case Code::kCall: {
        Value callee = std::move(args_[0]);
        args_.erase(args_.begin());
        call(as_closure(callee).plan, callee, at);
        break;
      }
      case Code::kBranch:
        if (!args_[0].as_bool()) frames_.back().pc = at.a;
        break;
      case Code::kNoMatch:
        throw RuntimeError("no clause of the match fits a value made by " + made_by(args_[0]));
      case Code::kCheck:
        plan.checks[at.a].run(args_);
        break;
      case Code::kRefCreate:
        slots()[at.dst] = Value::reference(std::move(args_[0]));
        break;
      case Code::kRefRead:
        slots()[at.dst] = args_[0].get();
        break;
      case Code::kRefWrite:
        args_[0].set(std::move(args_[1]));
        slots()[at.dst] = Value::unit();
        break;
      default:
        RELAY_UNREACHABLE("unknown instruction");
    }
  }

  void check_arity(const ConstructorInfo& constructor) const {
    if (args_.size() == constructor.arity) return;
    throw Error("constructor " + constructor.name.str() + " takes " +
                std::to_string(constructor.arity) + " arguments, found " +
                std::to_string(args_.size()));
  }

  // The instruction before the next one has given its value.
  void seen() {
    if (watch_ == nullptr) return;
    const Frame& top = frames_.back();
    const Instruction& at = top.plan->code[top.pc - 1];
    const Expr* source = top.plan->sources[top.pc - 1];
    if (source != nullptr && at.dst != kNoSlot) (*watch_)(*source, top.slots.begin[at.dst]);
  }

  Value make_closure(const Plan* plan, std::vector<Value> captured) {
    std::shared_ptr<Program> owner = frames_.back().program ? frames_.back().program : program_;
    return Value::closure(
        Ref<Closure>::adopt(new EvalClosure(std::move(owner), plan, std::move(captured))));
  }

  // The place and the calls that led to it, innermost first.
  [[noreturn]] void fail(std::vector<Diagnostic> diagnostics) {
    constexpr size_t kShown = 8;
    if (!diagnostics.empty() && !frames_.empty()) {
      Diagnostic& first = diagnostics.front();
      const Frame& top = frames_.back();
      if (!first.span.known() && top.pc > 0) first.span = top.plan->code[top.pc - 1].span;
      for (size_t i = frames_.size(); i-- > 0;) {
        size_t from_top = frames_.size() - 1 - i;
        if (from_top == kShown && i > kShown) {
          first.note("… " + std::to_string(i - kShown + 1) + " more calls …");
          i = kShown;
          continue;
        }
        if (frames_[i].dst == kNoSlot) break;
        first.note("in the call of " + frames_[i].plan->name, frames_[i].call);
      }
    }
    throw RuntimeError(std::move(diagnostics));
  }

  std::shared_ptr<Program> program_;
  const EvalWatch* watch_;
  SlotStack stack_;
  std::deque<Frame> frames_;
  std::vector<Value> args_;
};

}  // namespace

Value call_within(const Value& closure, std::span<const Value> arguments) {
  const EvalClosure& callee = as_closure(closure);
  std::shared_ptr<Program> program = callee.program;
  return Machine(program).run(callee.plan, &closure, arguments);
}

}  // namespace relay::eval

namespace relay {

namespace {

Value evaluated(const Module& module, Name entry, std::span<const Value> arguments,
                const EvalWatch* watch) {
  auto program = std::make_shared<eval::Program>(module);
  const eval::Plan* plan = program->global(entry, {});
  if (program->module().function(entry) != nullptr)
    check_arguments(program->module(), entry, arguments, program->devices());
  Value result = eval::Machine(program, watch).run(plan, nullptr, arguments);
  if (result.is_tensor()) return result;
  return leave_program(std::move(result), returned_type(program->module(), entry));
}

}  // namespace

Value evaluate_function(const Module& module, Name entry, std::span<const Value> arguments) {
  return evaluated(module, entry, arguments, nullptr);
}

Value evaluate_watched(const Module& module, Name entry, std::span<const Value> arguments,
                       const EvalWatch& watch) {
  return evaluated(module, entry, arguments, &watch);
}

Value evaluate_expr(const ExprRef& expr, const Module& module, Device device) {
  auto program = std::make_shared<eval::Program>(module, device);
  FunctionRef function = make_function({}, expr, {}, {}, {}, {}, expr->span());
  const eval::Plan* plan = program->add(function, "expression");
  return eval::Machine(program).run(plan, nullptr, {});
}

Value call_closure(const Value& closure, std::span<const Value> arguments) {
  KnownType type = check_closure_call(closure, arguments);
  return leave_program(eval::call_within(closure, arguments), type.part(type.type->fields.back()));
}

}  // namespace relay
