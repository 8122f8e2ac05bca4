// The loop: one handler for each instruction, threaded by computed jumps.
#include <relay/vm/machine/interpreter.h>

#include <cstring>
#include <iterator>
#include <new>
#include <type_traits>

#include <relay/support/error.h>

namespace relay::vm {

namespace {

// In the order of Op.
// clang-format off
#define RELAY_VM_OPS(X)                                                                        \
  X(Move)                                                                                      \
  X(Take)                                                                                      \
  X(Const)                                                                                     \
  X(Drop)                                                                                      \
  X(Unary)                                                                                     \
  X(Binary)                                                                                    \
  X(Cast)                                                                                      \
  X(Bitcast)                                                                                   \
  X(Select)                                                                                    \
  X(Tuple) X(Construct) X(Field) X(Unpack) X(Switch) X(Closure) X(Global) X(Self) X(Capture)   \
      X(Call) X(TailCall) X(CallClosure) X(TailCallClosure) X(Return) X(Jump) X(Branch)        \
          X(RefCreate) X(RefRead) X(RefWrite) X(RunGraph) X(CheckShapes) X(Fail) X(FailUnless) \
              X(NoMatch) X(RefAdd)
// clang-format on
#define RELAY_VM_OP(name) Op::k##name,
constexpr Op kOrder[] = {RELAY_VM_OPS(RELAY_VM_OP)};
#undef RELAY_VM_OP
constexpr bool ordered() {
  for (size_t i = 0; i < std::size(kOrder); ++i) {
    if (kOrder[i] != static_cast<Op>(i)) return false;
  }
  return std::size(kOrder) == static_cast<size_t>(Op::kCount);
}
static_assert(ordered());

template <class T>
T number(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// Integers wrap.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;
template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <class T>
T sub(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <class T>
T mul(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

[[noreturn]] void throw_interrupted() { throw Interrupted(); }
[[noreturn]] void throw_division() { throw RuntimeError("integer division by zero"); }
[[noreturn]] void throw_kind(const char* wanted, const Slot& slot) {
  throw Error(std::string("expected ") + wanted + ", found " + kind_name(slot.kind()));
}

inline const Value& field_of(const Slot& slot, uint32_t index) {
  if (slot.kind() != Value::Kind::kTuple && slot.kind() != Value::Kind::kData) {
    throw_kind("a tuple or data value", slot);
  }
  auto fields = slot.value().fields();
  if (index >= fields.size()) throw Error("a value has too few fields");
  return fields[index];
}

}  // namespace

inline Frame* Interpreter::push(Frame* caller, const LinkedFunction* function, const Code* call) {
  char* at = caller->end();
  if (function->frame_bytes > static_cast<size_t>(stack_.limit() - at)) [[unlikely]] {
    return push_segment(caller, function, call);
  }
  auto* frame = reinterpret_cast<Frame*>(at);
  frame->caller = caller;
  frame->function = function;
  frame->call = call;
  frame->opens_segment = 0;
  return frame;
}

Value Interpreter::loop() {
  // Addresses of labels and jumps to them are extensions of g++ and clang.
#define RELAY_VM_LABEL(name) __extension__ &&L_##name,
// clang-format off
#define RELAY_VM_LABELS(type, name)                                                            \
  RELAY_VM_LABEL(Add##name)                                                                    \
  RELAY_VM_LABEL(Sub##name)                                                                    \
  RELAY_VM_LABEL(Mul##name)                                                                    \
  RELAY_VM_LABEL(Eq##name)                                                                     \
  RELAY_VM_LABEL(Ne##name)                                                                     \
  RELAY_VM_LABEL(Lt##name)                                                                     \
  RELAY_VM_LABEL(Le##name)                                                                     \
  RELAY_VM_LABEL(Gt##name)                                                                     \
  RELAY_VM_LABEL(Ge##name)                                                                     \
  RELAY_VM_LABEL(BranchEq##name) RELAY_VM_LABEL(BranchNe##name) RELAY_VM_LABEL(BranchLt##name) \
      RELAY_VM_LABEL(BranchLe##name) RELAY_VM_LABEL(BranchGt##name) RELAY_VM_LABEL(BranchGe##name)
  // clang-format on
  static const void* const labels[] = {
      RELAY_VM_OPS(RELAY_VM_LABEL) RELAY_VM_FAST_TYPES(RELAY_VM_LABELS) RELAY_VM_LABEL(Loop)
          RELAY_VM_LABEL(BranchBack) RELAY_VM_LABEL(SelfTailCall) RELAY_VM_LABEL(Number)};
  static_assert(std::size(labels) == handler::kCount);

  Frame* frame = frame_;
  char* registers = reinterpret_cast<char*>(frame->registers());
  const Code* ip = frame->function->code.data();

  // No local with a destructor may live across these jumps.
#define RELAY_VM_GO() __extension__({ goto* labels[ip->handler]; })
#define RELAY_VM_NEXT() \
  do {                  \
    ++ip;               \
    RELAY_VM_GO();      \
  } while (false)
#define R(field) slot_at(registers, ip->field)
  // Before anything that may fail.
#define RELAY_VM_SAVE() (frame_ = frame, at_ = ip)
#define RELAY_VM_ENTER(next)                                 \
  do {                                                       \
    frame = (next);                                          \
    registers = reinterpret_cast<char*>(frame->registers()); \
    ip = frame->function->code.data();                       \
  } while (false)
#define RELAY_VM_CHECK_INTERRUPT()                                  \
  do {                                                              \
    if (interrupt_->load(std::memory_order_relaxed)) [[unlikely]] { \
      RELAY_VM_SAVE();                                              \
      throw_interrupted();                                          \
    }                                                               \
  } while (false)

  RELAY_VM_GO();

L_Move:
  copy_slot(R(dst), R(a));
  RELAY_VM_NEXT();
L_Take:
  move_slot(R(dst), R(a));
  RELAY_VM_NEXT();
L_Const:
  copy_slot(R(dst), *reinterpret_cast<const Slot*>(ip->constant));
  RELAY_VM_NEXT();
L_Number:
  set_number(R(dst), ip->head, ip->imm);
  RELAY_VM_NEXT();
L_Drop:
  for (uint32_t i = 0; i < ip->count; ++i) clear_slot(slot_at(registers, ip->args[i]));
  RELAY_VM_NEXT();

L_Unary:
L_Cast : {
  uint64_t out;
  ip->scalar(&out, R(a).bits, 0);
  set_number(R(dst), ip->head, out);
  RELAY_VM_NEXT();
}
L_Binary : {
  uint64_t out;
  if (!ip->scalar(&out, R(a).bits, R(b).bits)) [[unlikely]] {
    RELAY_VM_SAVE();
    throw_division();
  }
  set_number(R(dst), ip->head, out);
  RELAY_VM_NEXT();
}
L_Bitcast:
  set_number(R(dst), ip->head, R(a).bits);
  RELAY_VM_NEXT();

#define RELAY_VM_ARITHMETIC(label, function, type)                                             \
  L_##label : set_number(R(dst), scalar_head(dtype_of<type>()),                                \
                         bits_of(function(number<type>(R(a).bits), number<type>(R(b).bits)))); \
  RELAY_VM_NEXT();
#define RELAY_VM_COMPARE(label, symbol, type)                                             \
  L_##label : set_number(R(dst), scalar_head(kBool),                                      \
                         number<type>(R(a).bits) symbol number<type>(R(b).bits) ? 1 : 0); \
  RELAY_VM_NEXT();                                                                        \
  L_Branch##label : {                                                                     \
    bool holds = number<type>(R(a).bits) symbol number<type>(R(b).bits);                  \
    set_number(R(dst), scalar_head(kBool), holds ? 1 : 0);                                \
    if (holds) {                                                                          \
      ip += 2;                                                                            \
    } else {                                                                              \
      ip = ip->target;                                                                    \
    }                                                                                     \
    RELAY_VM_GO();                                                                        \
  }
#define RELAY_VM_FAST(type, name)           \
  RELAY_VM_ARITHMETIC(Add##name, add, type) \
  RELAY_VM_ARITHMETIC(Sub##name, sub, type) \
  RELAY_VM_ARITHMETIC(Mul##name, mul, type) \
  RELAY_VM_COMPARE(Eq##name, ==, type)      \
  RELAY_VM_COMPARE(Ne##name, !=, type)      \
  RELAY_VM_COMPARE(Lt##name, <, type)       \
  RELAY_VM_COMPARE(Le##name, <=, type)      \
  RELAY_VM_COMPARE(Gt##name, >, type)       \
  RELAY_VM_COMPARE(Ge##name, >=, type)
  RELAY_VM_FAST_TYPES(RELAY_VM_FAST)

L_Select:
  copy_slot(R(dst), (R(a).bits & 1) != 0 ? R(b) : R(c));
  RELAY_VM_NEXT();

L_Tuple:
  RELAY_VM_SAVE();
  make_tuple(*ip, registers);
  RELAY_VM_NEXT();
L_Construct:
  RELAY_VM_SAVE();
  construct(frame, *ip, registers);
  RELAY_VM_NEXT();
L_Field : {
  RELAY_VM_SAVE();
  const Value& field = field_of(R(a), ip->b);
  copy_slot(R(dst), reinterpret_cast<const Slot&>(field));
  RELAY_VM_NEXT();
}
L_Unpack:
  RELAY_VM_SAVE();
  unpack(*ip, registers);
  RELAY_VM_NEXT();
L_Switch : {
  const Slot& data = R(a);
  uint64_t tag = data.head >> 32;
  if (data.kind() != Value::Kind::kData || tag >= ip->count) [[unlikely]] {
    RELAY_VM_SAVE();
    throw_kind("a value of the data type matched", data);
  }
  ip = frame->function->code.data() + ip->args[tag];
  RELAY_VM_GO();
}

L_Closure:
L_Global:
  RELAY_VM_SAVE();
  make_closure(frame, *ip, registers);
  RELAY_VM_NEXT();
L_Self:
  RELAY_VM_SAVE();
  self_closure(frame, *ip, registers);
  RELAY_VM_NEXT();
L_Capture : {
  // The verifier has compared the index with what closures of this function capture.
  auto* closure = static_cast<MachineClosure*>(reinterpret_cast<Object*>(frame->closure.bits));
  Slot& captured = reinterpret_cast<Slot&>(closure->captured()[ip->a]);
  if (ip->b != 0 && closure->unique()) {
    move_slot(R(dst), captured);
  } else {
    copy_slot(R(dst), captured);
  }
  RELAY_VM_NEXT();
}

L_Call : {
  RELAY_VM_CHECK_INTERRUPT();
  if (ip->function->frame_bytes > static_cast<size_t>(stack_.limit() - frame->end()))
    RELAY_VM_SAVE();
  Frame* next = push(frame, ip->function, ip);
  char* to = reinterpret_cast<char*>(next->registers());
  for (uint32_t i = 0; i < ip->count; ++i) {
    pass(slot_at(to, i * static_cast<uint32_t>(sizeof(Slot))), registers, ip->args[i]);
  }
  RELAY_VM_ENTER(next);
  RELAY_VM_GO();
}
L_SelfTailCall : {
  constexpr uint32_t kMost = 6;
  RELAY_VM_CHECK_INTERRUPT();
  if (ip->count > kMost) goto L_TailCall;
  Slot staged[kMost];
  for (uint32_t i = 0; i < ip->count; ++i) pass(staged[i], registers, ip->args[i]);
  for (uint32_t i = 0; i < ip->count; ++i) {
    Slot& to = slot_at(registers, i * static_cast<uint32_t>(sizeof(Slot)));
    if (to.counted()) release_slot(to);
    to = staged[i];
  }
  // The parameters are the first of them.
  const std::vector<uint32_t>& owning = frame->function->owning;
  for (size_t i = ip->count; i < owning.size(); ++i) clear_slot(slot_at(registers, owning[i]));
  ip = frame->function->code.data();
  RELAY_VM_GO();
}
L_TailCall : {
  RELAY_VM_CHECK_INTERRUPT();
  RELAY_VM_SAVE();
  Frame* next = tail_call(frame, ip->function, Slot{0, 0}, ip->args, ip->count);
  RELAY_VM_ENTER(next);
  RELAY_VM_GO();
}
L_CallClosure : {
  RELAY_VM_CHECK_INTERRUPT();
  RELAY_VM_SAVE();
  Frame* next = call_closure(frame, ip);
  RELAY_VM_ENTER(next);
  RELAY_VM_GO();
}
L_TailCallClosure : {
  RELAY_VM_CHECK_INTERRUPT();
  RELAY_VM_SAVE();
  Frame* next = tail_call_closure(frame, ip);
  RELAY_VM_ENTER(next);
  RELAY_VM_GO();
}
L_Return : {
  Slot result = R(a);
  R(a).head = 0;
  Frame* caller = frame->caller;
  const Code* call = frame->call;
  bool opens_segment = frame->opens_segment != 0;
  clear_frame(frame);
  if (opens_segment) stack_.close_segment();
  if (caller == nullptr) {
    frame_ = nullptr;
    Value value;
    std::memcpy(static_cast<void*>(&value), &result, sizeof value);
    return value;
  }
  frame = caller;
  registers = reinterpret_cast<char*>(frame->registers());
  ip = call;
  move_slot(R(dst), result);
  RELAY_VM_NEXT();
}

L_Loop:
  RELAY_VM_CHECK_INTERRUPT();
L_Jump:
  ip = ip->target;
  RELAY_VM_GO();
L_BranchBack:
  RELAY_VM_CHECK_INTERRUPT();
L_Branch:
  if ((R(a).bits & 0xff) == 0) {
    ip = ip->target;
    RELAY_VM_GO();
  }
  RELAY_VM_NEXT();

L_RefCreate : {
  RELAY_VM_SAVE();
  R(dst).value() = Value::reference(R(a).value());
  RELAY_VM_NEXT();
}
L_RefRead : {
  const Slot& cell = R(a);
  if (cell.kind() != Value::Kind::kReference) [[unlikely]] {
    RELAY_VM_SAVE();
    throw_kind("a reference", cell);
  }
  copy_slot(R(dst), reinterpret_cast<const Slot&>(cell.value().get()));
  RELAY_VM_NEXT();
}
L_RefWrite : {
  const Slot& cell = R(a);
  if (cell.kind() != Value::Kind::kReference) [[unlikely]] {
    RELAY_VM_SAVE();
    throw_kind("a reference", cell);
  }
  cell.value().set(R(b).value());
  R(dst).value() = Value::unit();
  RELAY_VM_NEXT();
}

L_RefAdd:
  RELAY_VM_SAVE();
  add_to_cell(*ip, registers);
  RELAY_VM_NEXT();

L_RunGraph:
  RELAY_VM_CHECK_INTERRUPT();
  RELAY_VM_SAVE();
  run_dataflow(frame, *ip, registers);
  RELAY_VM_NEXT();
L_CheckShapes:
  RELAY_VM_SAVE();
  check_shapes(frame, *ip, registers);
  RELAY_VM_NEXT();
L_Fail:
  RELAY_VM_SAVE();
  fail_with(frame, ip->a);
L_FailUnless:
  if ((R(a).bits & 0xff) == 0) [[unlikely]] {
    RELAY_VM_SAVE();
    fail_with(frame, ip->b);
  }
  RELAY_VM_NEXT();
L_NoMatch:
  RELAY_VM_SAVE();
  fail_match(R(a).value());
}

Value Interpreter::run(const LinkedFunction& function, const Value& closure,
                       std::span<const Value> arguments) {
  return run_with(function, closure, arguments.size(), [&](Slot* to) {
    for (const Value& argument : arguments)
      copy_slot(*to++, reinterpret_cast<const Slot&>(argument));
  });
}

Value Interpreter::run(const LinkedFunction& function, const Value& closure,
                       std::vector<Value> arguments) {
  return run_with(function, closure, arguments.size(), [&](Slot* to) {
    for (Value& argument : arguments) move_slot(*to++, reinterpret_cast<Slot&>(argument));
  });
}

Value Interpreter::run_with(const LinkedFunction& function, const Value& closure, size_t count,
                            const std::function<void(Slot* registers)>& bind) {
  if (count != function.source->num_params) throw Error(wrong_count(*function.source, count));
  RELAY_CHECK(frame_ == nullptr, "a machine runs one program at a time");
  struct Others {
    Interpreter& self;
    ~Others() {
      if (self.loaded_.size() > 1) self.let_go_of_others();
    }
  } others{*this};
  try {
    if (closure) use(as_machine_closure(closure).image);
    frame_ = push_segment(nullptr, &function, nullptr);
    if (closure) copy_slot(frame_->closure, reinterpret_cast<const Slot&>(closure));
    bind(frame_->registers());
    at_ = nullptr;
    return loop();
  } catch (const Interrupted&) {
    unwind();
    throw;
  } catch (const DataflowFailure& failure) {
    Diagnostic diagnostic = Diagnostic::error(failure.message);
    if (!failure.note.empty()) diagnostic.note(failure.note);
    fail({std::move(diagnostic)}, failure.position);
  } catch (const Error& error) {
    fail(error.diagnostics(), 0);
  } catch (const std::bad_alloc&) {
    fail({Diagnostic::error("no memory left")}, 0);
  } catch (...) {
    unwind();
    throw;
  }
}

}  // namespace relay::vm
