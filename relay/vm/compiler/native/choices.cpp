// Choices, and the ways out of functions.
#include <algorithm>

#include <relay/support/stop.h>
#include <relay/vm/compiler/code.h>
#include <relay/vm/compiler/native/writer.h>

namespace relay::vm::native {

using te::Scalar;
using te::ScalarKind;
using te::ScalarRef;

namespace {

constexpr size_t kMostWork = 100'000;  // instructions looked at

bool leaves(Op op) {
  return op == Op::kReturn || op == Op::kTailCall || op == Op::kTailCallClosure ||
         op == Op::kFail || op == Op::kNoMatch;
}

}  // namespace

/// Code only runs forwards, so what follows an instruction is known before it.
const Writer::Paths& Writer::paths(uint32_t number) {
  auto [entry, added] = paths_.try_emplace(number);
  Paths& found = entry->second;
  if (!added) return found;
  Function function = program_.sources[number].code;
  const auto size = static_cast<uint32_t>(function.code.size());
  found.joins.assign(size + 1, size);
  found.last_read.assign(function.num_registers, 0);
  for (uint32_t i = size; i-- > 0;) {
    Instruction& at = function.code[i];
    uint32_t join = kNone;
    auto next = [&](uint32_t target) {
      if (target <= i || target > size) throw NotNative{"a jump that is no choice"};
      if (join == kNone) join = target;
      while (join != target) {
        uint32_t& less = join < target ? join : target;
        less = found.joins[less];
      }
    };
    if (leaves(at.op)) {
      next(size);
    } else if (at.op == Op::kJump) {
      next(at.a);
    } else if (at.op == Op::kSwitch) {
      for (uint32_t k = 0; k < at.count; ++k) next(function.args[at.first + k]);
    } else {
      next(i + 1);
      if (at.op == Op::kBranch) next(at.b);
    }
    if (join == kNone) throw NotNative{"a switch without targets"};
    found.joins[i] = join;
    for_each_register(function, at, [&](uint32_t& reg, bool written) {
      uint32_t& last = found.last_read[reg & ~kLast];
      if (!written) last = std::max(last, i);
    });
  }
  return found;
}

/// The instructions from `at` to `end`; true if they leave the function.
bool Writer::walk(Frame& frame, uint32_t at, uint32_t end) {
  const Function& function = code(frame);
  while (at != end) {
    if (++work_ > kMostWork) throw NotNative{"too large"};
    const Instruction& instruction = function.code[at];
    const uint32_t position = at < function.positions.size() ? function.positions[at] : 0;
    if (instruction.op == Op::kBranch || instruction.op == Op::kSwitch) {
      if (choose(frame, at)) return true;
    } else if (instruction.op == Op::kJump) {
      at = instruction.a;
    } else if (instruction.op == Op::kConstruct) {
      frame.registers[instruction.dst] = made(frame, at++, position);
    } else {
      if (ends(frame, instruction, position)) return true;
      step(frame, instruction, position);
      ++at;
    }
  }
  return false;
}

/// A branch or switch and its arms, and `at` behind them, or at the arm that is known to be taken;
/// true if all leave the function.
bool Writer::choose(Frame& frame, uint32_t& at) {
  stop_if_asked();
  const Function& function = code(frame);
  const Instruction& choice = function.code[at];
  const uint32_t join = paths(frame.function).joins[at];
  std::vector<Arm> arms;
  if (choice.op == Op::kBranch) {
    const ScalarRef condition = number_in(frame, choice.a);
    if (condition->kind == ScalarKind::kConst) {
      at = condition->value.i != 0 ? at + 1 : choice.b;
      return false;
    }
    arms = {{condition, at + 1}, {{}, choice.b}};
  } else {
    const ValueRef value = read(frame, choice.a);
    const int32_t tag = value->kind == Value::Kind::kMade ? value->tag : known_tag(*value);
    if (tag >= 0) {
      if (static_cast<uint32_t>(tag) >= choice.count) throw NotNative{"an unknown constructor"};
      at = function.args[choice.first + static_cast<uint32_t>(tag)];
      return false;
    }
    arms = arms_of_switch(frame, choice);
  }
  at = join;
  const bool left = split(frame, arms, choice.op == Op::kSwitch ? choice.a : kNone, join);
  if (left != (join == function.code.size())) throw NotNative{"a jump that is no choice"};
  return left;
}

/// Arms for one instruction are one.
std::vector<Writer::Arm> Writer::arms_of_switch(Frame& frame, const Instruction& at) {
  const Function& function = code(frame);
  const ValueRef value = read(frame, at.a);
  std::vector<Arm> arms;
  for (uint32_t tag = 0; tag < at.count; ++tag) {
    const uint32_t target = function.args[at.first + tag];
    const ScalarRef is = has_tag(*value, static_cast<int32_t>(tag));
    auto known = std::ranges::find(arms, target, &Arm::target);
    if (known == arms.end()) {
      arms.push_back({is, target, static_cast<int32_t>(tag)});
    } else {
      known->condition = (Scalar(known->condition) || Scalar(is)).ref();
      known->tag = -1;
    }
  }
  arms.back().condition = {};
  return arms;
}

/// The first of the arms, or the others. In each, the constructor of the value that a switch looks
/// at is known.
bool Writer::split(Frame& frame, std::span<const Arm> arms, uint32_t value, uint32_t join_at) {
  const Arm& first = arms.front();
  auto take = [&] {
    if (value == kNone || first.tag < 0) return walk(frame, first.target, join_at);
    const ValueRef whole = read(frame, value);
    auto narrow = std::make_shared<Value>(*whole);
    narrow->tag = first.tag;
    frame.registers[value] = narrow;
    const bool left = walk(frame, first.target, join_at);
    frame.registers[value] = whole;
    return left;
  };
  if (first.condition.get() == nullptr) return take();
  Deeper deeper(depth_);
  Moves* outer_moves = moves_;
  Block* outer = scalars_.block;
  Block blocks[2];
  Moves moves[2];
  bool left[2];
  const ScalarRef condition = scalars_.let(first.condition);
  for (int k = 0; k < 2; ++k) {
    scalars_.block = &blocks[k];
    moves_ = &moves[k];
    left[k] = k == 0 ? take() : split(frame, arms.subspan(1), value, join_at);
  }
  scalars_.block = outer;
  moves_ = outer_moves;
  if (left[0] != left[1]) throw NotNative{"a jump that is no choice"};
  for (auto& [reg, in_first] : moves[0]) {
    auto other = moves[1].find(reg);
    if (left[0] || other == moves[1].end()) continue;
    if (paths(frame.function).last_read[reg] < join_at) continue;
    const ValueRef both = join(condition, in_first, blocks[0], other->second, blocks[1]);
    frame.registers[reg] = both;
    if (moves_ != nullptr) (*moves_)[reg] = both;
  }
  if (!blocks[0].empty() || !blocks[1].empty())
    outer->push_back({lower::If{condition, std::move(blocks[0]), std::move(blocks[1])}});
  return left[0];
}

/// The value of one of two arms, in registers that both set.
ValueRef Writer::join(const ScalarRef& condition, const ValueRef& value, Block& in_a,
                      const ValueRef& other_value, Block& in_b) {
  ValueRef a = value, b = other_value;
  Block* outer = scalars_.block;
  if (!alike(a, b)) {
    const ValueRef structure = common(a, b);
    const bool selects = &in_a == &in_b;  // both have been computed
    scalars_.block = selects ? outer : &in_a;
    a = fit(a, structure);
    scalars_.block = selects ? outer : &in_b;
    b = fit(b, structure);
    scalars_.block = outer;
  }
  const bool plain = in_a.empty() && in_b.empty();
  std::vector<ValueRef> others;
  for_each_tensor(b, [&](const ValueRef& tensor) { others.push_back(tensor); });
  size_t next = 0;
  return with_tensors(a, [&](const ValueRef& tensor) -> ValueRef {
    const ValueRef& other = others[next++];
    if (same(*tensor, *other)) {
      if (tensor->tag == other->tag) return tensor;
      // Each arm knew a constructor of its own.
      auto either = std::make_shared<Value>(*tensor);
      either->tag = -1;
      return either;
    }
    scalars_.block = plain ? outer : &in_a;
    const ValueRef first = scalars_.in_registers(tensor);
    scalars_.block = plain ? outer : &in_b;
    const ValueRef second = scalars_.in_registers(other);
    scalars_.block = outer;
    auto result = std::make_shared<Value>(*first);
    result->tag = -1;
    for (size_t i = 0; i < result->elements.size(); ++i) {
      const ScalarRef& x = first->elements[i];
      const ScalarRef& y = second->elements[i];
      if (same(*number_of(x), *number_of(y))) continue;
      if (plain) {
        result->elements[i] = scalars_.let(te::select(condition, x, y).ref());
        continue;
      }
      const uint32_t var = scalars_.fresh_var();
      outer->push_back({lower::Let{var, Scalars::zero(x->dtype)}});
      in_a.push_back({lower::Set{var, x}});
      in_b.push_back({lower::Set{var, y}});
      result->elements[i] = te::placeholder(var, x->dtype).ref();
    }
    return result;
  });
}

/// True if the instruction leaves the function.
bool Writer::ends(Frame& frame, const Instruction& at, uint32_t position) {
  if (at.op == Op::kReturn) {
    leave(frame, read(frame, at.a));
    return true;
  }
  if (at.op == Op::kFail) {
    fail(frame, at, position);
    return true;
  }
  if (at.op != Op::kTailCall && at.op != Op::kTailCallClosure) return false;
  ValueRef closure;
  uint32_t function = at.a;
  std::vector<ValueRef> args = arguments(frame, at, 0);
  if (at.op == Op::kTailCallClosure) {
    closure = args.front();
    args.erase(args.begin());
    if (closure->kind != Value::Kind::kClosure) throw NotNative{"a function that is not known"};
    function = closure->function;
  }
  if (function != frame.function) {
    leave(frame, call(function, std::move(args), std::move(closure), false));
    return true;
  }
  if (closure != nullptr && !closure->fields.empty()) args.push_back(std::move(closure));
  again(frame, tuple_of(std::move(args)));
  return true;
}

}  // namespace relay::vm::native
