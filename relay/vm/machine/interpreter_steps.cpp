// The steps of the interpreter that allocate, call through closures or fail.
#include <algorithm>
#include <memory>
#include <new>

#include <relay/runtime/format.h>
#include <relay/support/error.h>
#include <relay/vm/machine/interpreter.h>
#include <relay/vm/machine/positions.h>

namespace relay::vm {

namespace {

Value operand(char* registers, uint32_t offset) {
  Value value;
  pass(slot_of(value), registers, offset);
  return value;
}

// Operands become values of a list that holds nothing.
void pass_all(std::vector<Value>& to, char* registers, const uint32_t* operands, size_t count) {
  to.resize(count);
  for (size_t i = 0; i < count; ++i) pass(slot_of(to[i]), registers, operands[i]);
}

}  // namespace

// ---- Closures -----------------------------------------------------------------------------------

const char MachineClosure::kKind = 0;

MachineClosure::MachineClosure(std::shared_ptr<const Image> image, const LinkedFunction* function)
    : TypedClosure(&kKind), image(std::move(image)), function(function) {
  count_ = function->source->num_captures;
  std::uninitialized_default_construct_n(reinterpret_cast<Value*>(this + 1), count_);
}

MachineClosure::~MachineClosure() { std::destroy_n(reinterpret_cast<Value*>(this + 1), count_); }

Ref<MachineClosure> MachineClosure::make(std::shared_ptr<const Image> image,
                                         const LinkedFunction* function) {
  size_t more = function->source->num_captures * sizeof(Value);
  return Ref<MachineClosure>::adopt(new (more) MachineClosure(std::move(image), function));
}

Ref<Closure> MachineClosure::with_type(KnownType type) const {
  Ref<MachineClosure> typed = make(image, function);
  std::copy(captured().begin(), captured().end(), typed->captured().begin());
  typed->type_ = std::move(type);
  return Ref<Closure>(typed);
}

MachineClosure& as_machine_closure(const Value& value) {
  if (!value.is_closure()) throw Error(std::string("cannot call ") + kind_name(value.kind()));
  Closure* closure = value.closure();
  if (closure->kind() != &MachineClosure::kKind) {
    throw Error("cannot call a closure of another executor");
  }
  return *static_cast<MachineClosure*>(closure);
}

void Interpreter::make_closure(const Frame* frame, const Code& at, char* registers) {
  const Image* image = frame->function->image;
  const LinkedFunction* function = at.function;
  Ref<MachineClosure> closure = MachineClosure::make(loaded(image).image, function);
  std::span<Value> captured = closure->captured();
  // kGlobal has no operands.
  for (size_t i = 0; i < captured.size(); ++i) pass(slot_of(captured[i]), registers, at.args[i]);
  Value made = Value::closure(Ref<Closure>(std::move(closure)));
  move_slot(slot_at(registers, at.dst), slot_of(made));
}

void Interpreter::self_closure(Frame* frame, const Code& at, char* registers) {
  if (!frame->closure.counted()) {
    // Called directly; the verifier allows that only without captures.
    const LinkedFunction* function = frame->function;
    Value self =
        Value::closure(Ref<Closure>(MachineClosure::make(loaded(function->image).image, function)));
    frame->closure.value() = std::move(self);
  }
  slot_at(registers, at.dst).value() = frame->closure.value();
}

// ---- Calls --------------------------------------------------------------------------------------

Frame* Interpreter::push_segment(Frame* caller, const LinkedFunction* function, const Code* call) {
  auto* frame = reinterpret_cast<Frame*>(stack_.open_segment(function->frame_bytes, caller));
  frame->caller = caller;
  frame->function = function;
  frame->call = call;
  frame->opens_segment = 1;
  return frame;
}

Frame* Interpreter::call_closure(Frame* frame, const Code* at) {
  char* registers = reinterpret_cast<char*>(frame->registers());
  Value callee = operand(registers, at->args[0]);
  MachineClosure& closure = as_machine_closure(callee);
  const LinkedFunction* function = closure.function;
  uint32_t count = at->count - 1;
  if (count != function->source->num_params) throw Error(wrong_count(*function->source, count));
  if (function->image != frame->function->image) use(closure.image);
  Frame* next;
  if (function->frame_bytes > static_cast<size_t>(stack_.limit() - frame->end())) {
    next = push_segment(frame, function, at);
  } else {
    next = reinterpret_cast<Frame*>(frame->end());
    next->caller = frame;
    next->function = function;
    next->call = at;
    next->opens_segment = 0;
  }
  next->closure = std::exchange(slot_of(callee), Slot{0, 0});
  Slot* to = next->registers();
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t from = at->args[i + 1];
    Slot& slot = slot_at(registers, from & ~kLastUse);
    if ((from & kLastUse) != 0) {
      move_slot(to[i], slot);
    } else {
      copy_slot(to[i], slot);
    }
  }
  return next;
}

// `closure` is counted for us.
Frame* Interpreter::tail_call(Frame* frame, const LinkedFunction* function, Slot closure,
                              const uint32_t* operands, uint32_t count) {
  char* registers = reinterpret_cast<char*>(frame->registers());
  staged_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    Slot& slot = slot_at(registers, operands[i] & ~kLastUse);
    staged_.push_back(slot);
    if ((operands[i] & kLastUse) != 0) {
      slot.head = 0;
    } else if (slot.counted()) {
      retain_slot(slot);
    }
  }
  Frame* caller = frame->caller;
  const Code* call = frame->call;
  bool opens = frame->opens_segment != 0;
  clear_frame(frame);
  size_t room = static_cast<size_t>(stack_.limit() - reinterpret_cast<char*>(frame));
  if (function->frame_bytes > room) {
    if (opens) stack_.close_segment();
    frame_ = caller;
    at_ = call;
    try {
      frame = push_segment(caller, function, call);
    } catch (...) {
      for (Slot& slot : staged_) clear_slot(slot);
      clear_slot(closure);
      throw;
    }
  } else {
    frame->caller = caller;
    frame->function = function;
    frame->call = call;
  }
  frame->closure = closure;
  Slot* to = frame->registers();
  for (uint32_t i = 0; i < count; ++i) to[i] = staged_[i];
  return frame;
}

Frame* Interpreter::tail_call_closure(Frame* frame, const Code* at) {
  char* registers = reinterpret_cast<char*>(frame->registers());
  Value callee = operand(registers, at->args[0]);
  MachineClosure& closure = as_machine_closure(callee);
  const LinkedFunction* function = closure.function;
  uint32_t count = at->count - 1;
  if (count != function->source->num_params) throw Error(wrong_count(*function->source, count));
  if (function->image != frame->function->image) use(closure.image);
  Slot taken = reinterpret_cast<Slot&>(callee);
  reinterpret_cast<Slot&>(callee).head = 0;
  return tail_call(frame, function, taken, at->args + 1, count);
}

Interpreter::Loaded& Interpreter::loaded(const Image* image) {
  for (Loaded& each : loaded_) {
    if (each.image.get() == image) return each;
  }
  RELAY_UNREACHABLE("an image that was not loaded");
}

void Interpreter::use(const std::shared_ptr<const Image>& image) {
  for (Loaded& each : loaded_) {
    if (each.image == image) return;
    if (each.image != nullptr || each.known.lock() != image) continue;
    each.image = image;
    return;
  }
  auto graphs = std::make_unique<DataflowRunner>(*image, workers_, interrupt_);
  loaded_.push_back({image, image, std::move(graphs)});
}

// After a run: drops images that nobody else has with their buffers, at once or after the next run;
// an image that is still called keeps its plans.
void Interpreter::let_go_of_others() noexcept {
  std::erase_if(loaded_, [this](Loaded& each) {
    if (each.image == image_) return false;
    if (each.image == nullptr ? each.known.expired() : each.image.use_count() == 1) return true;
    each.image.reset();
    return false;
  });
}

// ---- Data ---------------------------------------------------------------------------------------

void Interpreter::gather(const Code& at, char* registers) {
  values_.clear();
  pass_all(values_, registers, at.args, at.count);
}

void Interpreter::make_tuple(const Code& at, char* registers) {
  gather(at, registers);
  Value made = Value::tuple(std::span(values_));
  move_slot(slot_at(registers, at.dst), slot_of(made));
}

void Interpreter::construct(const Frame* frame, const Code& at, char* registers) {
  gather(at, registers);
  const ConstructorInfo* constructor = frame->function->image->executable->constructors[at.a];
  slot_at(registers, at.dst).value() = Value::data(constructor, std::span(values_));
}

void Interpreter::unpack(const Code& at, char* registers) {
  Value whole = std::move(slot_at(registers, at.a).value());
  if (!whole.is_tuple() && !whole.is_data()) {
    throw Error(std::string("expected a tuple or data value, found ") + kind_name(whole.kind()));
  }
  const std::span<const Value> fields = whole.fields();
  if (fields.size() < at.count) throw Error("a value has too few fields");
  std::span<Value> own = whole.unique_fields();
  for (uint32_t i = 0; i < at.count; ++i) {
    if (at.args[i] == kNoOffset) continue;
    Slot& to = slot_at(registers, at.args[i]);
    if (own.empty()) {
      copy_slot(to, reinterpret_cast<const Slot&>(fields[i]));
    } else {
      move_slot(to, slot_of(own[i]));
    }
  }
}

// ---- Graphs and checks --------------------------------------------------------------------------

void Interpreter::run_dataflow(const Frame* frame, const Code& at, char* registers) {
  const Image* image = frame->function->image;
  const Graph& graph = image->executable->graphs[at.a];
  values_.clear();
  pass_all(values_, registers, at.args, graph.num_inputs);
  results_.clear();
  results_.resize(graph.outputs.size());
  const uint32_t num_cells = at.b, num_registers = graph.num_inputs - num_cells;
  // Whatever happens, cells hold something afterwards.
  struct GiveBack {
    Interpreter& self;
    uint32_t first;
    ~GiveBack() {
      if (!self.cells_.empty()) self.give_back(first);
    }
  } back{*this, num_registers};
  if (num_cells != 0) take_contents(graph, num_registers);
  DataflowRunner& graphs = *loaded(image).graphs;
  graphs.run(at.a, values_, results_);
  if (num_cells != 0) put_sums();
  values_.clear();
  // A loop that passes on a tensor of one repeated number, or with strides, has it copied once.
  for (auto& [i, array] : graphs.made_dense()) {
    if (i < num_registers && (at.args[i] & kLastUse) == 0)
      slot_at(registers, at.args[i]).value() = Value(array);
  }
  graphs.made_dense().clear();
  for (size_t i = 0; i < results_.size(); ++i) {
    move_slot(slot_at(registers, at.args[graph.num_inputs + i]), slot_of(results_[i]));
  }
}

void Interpreter::check_shapes(const Frame* frame, const Code& at, char* registers) {
  const Executable& executable = *frame->function->image->executable;
  const TypeCheck& check = executable.checks[at.a];
  checked_.clear();
  for (uint32_t i = 0; i < at.count; ++i) {
    checked_.push_back(&slot_at(registers, at.args[i]).value());
  }
  TypeMismatch mismatch;
  if (fits(check, checked_, true, mismatch)) return;
  std::vector<std::shared_ptr<const Source>> sources;
  throw RuntimeError(mismatch_error(check, mismatch, [&](const TypeCheck::Part& part) {
    return position_span(executable, part.position, sources);
  }));
}

// ---- Failures -----------------------------------------------------------------------------------

std::string Interpreter::wrong_count(const Function& function, size_t found) {
  return function.name + " takes " + std::to_string(function.num_params) +
         (function.num_params == 1 ? " argument" : " arguments") + ", found " +
         std::to_string(found);
}

void Interpreter::fail_with(const Frame* frame, uint32_t message) {
  throw RuntimeError(frame->function->image->executable->messages[message]);
}

void Interpreter::fail_match(const Value& value) {
  throw RuntimeError("no clause of the match fits a value made by " + made_by(value));
}

void Interpreter::unwind() {
  while (frame_ != nullptr) {
    Frame* caller = frame_->caller;
    bool opens = frame_->opens_segment != 0;
    clear_frame(frame_);
    if (opens) stack_.close_segment();
    frame_ = caller;
  }
  at_ = nullptr;
  values_.clear();
  results_.clear();
}

void Interpreter::fail(std::vector<Diagnostic> diagnostics, uint32_t position) {
  constexpr uint64_t kShown = 8;
  // Diagnostics hold spans; until the error holds their texts, this does.
  std::vector<std::shared_ptr<const Source>> sources;
  auto place = [&](const LinkedFunction* function, const Code* code) -> Span {
    const std::vector<uint32_t>& positions = function->source->positions;
    if (code == nullptr || positions.empty()) return {};
    auto index = static_cast<size_t>(code - function->code.data());
    return position_span(*function->image->executable, positions[index], sources);
  };
  if (!diagnostics.empty() && frame_ != nullptr) {
    Diagnostic& first = diagnostics.front();
    if (!first.span.known() && position != 0) {
      first.span = position_span(*frame_->function->image->executable, position, sources);
    }
    if (!first.span.known()) first.span = place(frame_->function, at_);
    uint64_t depth = 0;  // of frames that were called by others
    for (const Frame* at = frame_; at->caller != nullptr; at = at->caller) ++depth;
    uint64_t from_top = 0;
    for (const Frame* at = frame_; at->caller != nullptr; at = at->caller, ++from_top) {
      uint64_t index = depth - from_top;  // 0 is the function that was called from outside
      if (depth > 2 * kShown && from_top >= kShown && index >= kShown) {
        if (from_top == kShown) {
          first.note("… " + std::to_string(index - kShown + 1) + " more calls …");
        }
        continue;
      }
      first.note("in the call of " + at->function->source->name,
                 place(at->caller->function, at->call));
    }
  }
  unwind();
  throw RuntimeError(std::move(diagnostics));
}

}  // namespace relay::vm
