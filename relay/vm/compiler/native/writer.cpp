// Calls, loops, choices and the ways out of functions.
#include <relay/vm/compiler/native/writer.h>

#include <algorithm>
#include <utility>

#include <relay/support/stop.h>

namespace relay::vm::native {

using te::ScalarKind;
using te::ScalarRef;

namespace {

constexpr size_t kMostDepth = 48;      // of calls and choices in each other
constexpr size_t kMostWork = 100'000;  // instructions looked at

struct Deeper {
  explicit Deeper(size_t& depth) : depth_(depth) {
    if (++depth_ > kMostDepth) throw NotNative{"calls and choices nest too deep"};
  }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  size_t& depth_;
};

void append(lower::Block& to, lower::Block& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

// ---- Calls and loops ----------------------------------------------------------------------------

ValueRef Writer::call(uint32_t function, std::vector<ValueRef> args, ValueRef closure, bool root) {
  Deeper deeper(depth_);
  if (program_.sources[function].params.size() != args.size())
    throw NotNative{"another number of arguments"};
  if (!active_.insert(function).second) throw NotNative{"recursion that is no tail call"};
  lower::Block* outside = scalars_.block;
  Moves* moves = std::exchange(moves_, nullptr);
  if (closure != nullptr && !closure->fields.empty()) args.push_back(std::move(closure));
  const ValueRef state = tuple_of(std::move(args));
  Known known;
  for_each_tensor(state, [&](const ValueRef&) { known.changes.push_back(0); });
  const size_t repeats = repeats_, written = scalars_.written();
  ValueRef result;
  // Each attempt knows more, so there are at most as many as tensors.
  for (bool done = false; !done;) {
    repeats_ = repeats;
    scalars_.forget_to(written);
    Frame frame;
    frame.function = function;
    frame.root = root;
    frame.known = &known;
    begin(frame, state);
    scalars_.block = &frame.body;
    walk(frame, 0, static_cast<uint32_t>(code(frame).code.size()));
    done = !frame.retry;
    if (!done) continue;
    if (frame.result == nullptr) throw NotNative{"a function that never returns"};
    append(*outside, frame.before);
    if (known.loops) {
      outside->push_back({lower::Repeat{std::move(frame.body)}});
      ++repeats_;
    } else {
      append(*outside, frame.body);
    }
    result = frame.result;
  }
  scalars_.block = outside;
  moves_ = moves;
  active_.erase(function);
  return result;
}

/// Gives the tensors that change from turn to turn registers of their own.
void Writer::begin(Frame& frame, const ValueRef& state) {
  scalars_.block = &frame.before;
  size_t number = 0;
  frame.state = with_tensors(state, [&](const ValueRef& tensor) -> ValueRef {
    if (frame.known->changes[number++] == 0) return tensor;
    auto copy = std::make_shared<Value>(*scalars_.in_registers(tensor));
    for (ScalarRef& element : copy->elements) {
      frame.vars.push_back(scalars_.fresh_var());
      frame.before.push_back({lower::Let{frame.vars.back(), element}});
      element = te::placeholder(frame.vars.back(), element->dtype).ref();
    }
    return copy;
  });
  const Source& source = program_.sources[frame.function];
  for (uint32_t i = 0; i < source.params.size(); ++i)
    frame.registers[i] = frame.state->fields[i];
  if (frame.state->fields.size() > source.params.size()) frame.closure = frame.state->fields.back();
}

/// The next turn of a function, with another state.
void Writer::again(Frame& frame, const ValueRef& state) {
  if (!alike(state, frame.state)) throw NotNative{"a state of changing structure"};
  Known& known = *frame.known;
  std::vector<ValueRef> before, after;
  for_each_tensor(frame.state, [&](const ValueRef& tensor) { before.push_back(tensor); });
  for_each_tensor(state, [&](const ValueRef& tensor) { after.push_back(tensor); });
  for (size_t i = 0; i < before.size(); ++i) {
    if (known.changes[i] != 0 || same(*before[i], *after[i])) continue;
    known.changes[i] = 1;
    frame.retry = true;
  }
  frame.retry |= !known.loops;
  known.loops = true;
  if (frame.retry) return;
  // All are read before one changes.
  std::vector<lower::Set> sets;
  size_t next = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (known.changes[i] == 0) continue;
    const ValueRef tensor = scalars_.in_registers(after[i]);
    for (ScalarRef element : tensor->elements) {
      const uint32_t var = frame.vars[next++];
      if (element->kind == ScalarKind::kVar && element->id == var) continue;
      if (element->kind == ScalarKind::kVar &&
          std::ranges::find(frame.vars, element->id) != frame.vars.end()) {
        const uint32_t copy = scalars_.fresh_var();
        scalars_.block->push_back({lower::Let{copy, element}});
        element = te::placeholder(copy, element->dtype).ref();
      }
      sets.push_back({var, std::move(element)});
    }
  }
  for (lower::Set& set : sets) scalars_.block->push_back({std::move(set)});
  scalars_.block->push_back({lower::NextTurn{}});
}

/// A way out: the results go to registers that all ways out set, but for those that are the same at
/// each.
void Writer::leave(Frame& frame, const ValueRef& value) {
  if (frame.retry) return;
  Known& known = *frame.known;
  if (!known.loops && scalars_.block == &frame.body) {
    frame.result = value;  // the only one
    return;
  }
  auto stays = [](const Value& tensor) {
    bool constant = true;
    for (const ScalarRef& element : tensor.elements)
      constant &= element->kind == ScalarKind::kConst;
    return constant;  // or it lies in memory
  };
  size_t number = 0;
  if (frame.result == nullptr) {
    size_t tensors = 0;
    for_each_tensor(value, [&](const ValueRef&) { ++tensors; });
    known.results.resize(tensors);
    frame.result = with_tensors(value, [&](const ValueRef& tensor) -> ValueRef {
      if (known.results[number++] == 0 && stays(*tensor)) return tensor;
      if (tensor->size() > kMostElements) throw NotNative{"a large tensor changes"};
      auto copy = std::make_shared<Value>(*tensor);
      copy->buffer = -1;
      copy->offset = 0;
      copy->elements.clear();
      for (int64_t i = 0; i < tensor->size(); ++i) {
        const uint32_t var = scalars_.fresh_var();
        frame.before.push_back({lower::Let{var, Scalars::zero(tensor->dtype)}});
        copy->elements.push_back(te::placeholder(var, tensor->dtype).ref());
      }
      return copy;
    });
  }
  if (!alike(frame.result, value)) throw NotNative{"results of differing structure"};
  std::vector<ValueRef> to, from;
  for_each_tensor(frame.result, [&](const ValueRef& tensor) { to.push_back(tensor); });
  for_each_tensor(value, [&](const ValueRef& tensor) { from.push_back(tensor); });
  for (size_t i = 0; i < to.size(); ++i) {
    if (stays(*to[i])) {
      if (same(*to[i], *from[i])) continue;
      known.results[i] = 1;
      frame.retry = true;
      continue;
    }
    const ValueRef tensor = scalars_.in_registers(from[i]);
    for (size_t k = 0; k < tensor->elements.size(); ++k) {
      scalars_.block->push_back({lower::Set{to[i]->elements[k]->id, tensor->elements[k]}});
    }
  }
}

// ---- Choices ------------------------------------------------------------------------------------

/// The instructions from `at` to `end`; true if they leave the function.
bool Writer::walk(Frame& frame, uint32_t at, uint32_t end) {
  const Function& function = code(frame);
  while (at < end) {
    if (++work_ > kMostWork) throw NotNative{"too large"};
    const Instruction& instruction = function.code[at];
    const uint32_t position = at < function.positions.size() ? function.positions[at] : 0;
    if (instruction.op == Op::kBranch) {
      if (choose(frame, at, end)) return true;
      continue;
    }
    if (ends(frame, instruction)) return true;
    step(frame, instruction, position);
    ++at;
  }
  return false;
}

/// A branch, both of its arms, and `at` behind them; true if both leave the function.
bool Writer::choose(Frame& frame, uint32_t& at, uint32_t end) {
  stop_if_asked();
  Deeper deeper(depth_);
  const Function& function = code(frame);
  const Instruction& branch = function.code[at];
  const uint32_t miss = branch.b;
  if (miss <= at + 1 || miss > end) throw NotNative{"a jump that is no choice"};
  const Instruction& last = function.code[miss - 1];
  const bool joins = last.op == Op::kJump;
  const uint32_t first_end = joins ? miss - 1 : miss;
  const uint32_t second_end = joins ? last.a : end;
  if (second_end < miss || second_end > end) throw NotNative{"a jump that is no choice"};
  const ScalarRef condition = number_in(frame, branch.a);
  const uint32_t first = at + 1;
  at = second_end;
  Moves* outer_moves = moves_;
  Block* outer = scalars_.block;
  if (condition->kind == ScalarKind::kConst) {
    Moves moves;
    moves_ = &moves;
    const bool taken = condition->value.i != 0;
    const bool left = taken ? walk(frame, first, first_end) : walk(frame, miss, second_end);
    moves_ = outer_moves;
    return left;
  }
  Block blocks[2];
  Moves moves[2];
  bool left[2];
  for (int k = 0; k < 2; ++k) {
    scalars_.block = &blocks[k];
    moves_ = &moves[k];
    left[k] = k == 0 ? walk(frame, first, first_end) : walk(frame, miss, second_end);
  }
  scalars_.block = outer;
  moves_ = outer_moves;
  if (left[0] != left[1] || joins == left[0]) throw NotNative{"a jump that is no choice"};
  for (auto& [reg, value] : moves[0]) {
    auto other = moves[1].find(reg);
    if (other == moves[1].end()) continue;
    frame.registers[reg] = join(condition, value, blocks[0], other->second, blocks[1]);
  }
  if (!blocks[0].empty() || !blocks[1].empty())
    outer->push_back({lower::If{condition, std::move(blocks[0]), std::move(blocks[1])}});
  return left[0];
}

/// The value of one of two arms, in registers that both set.
ValueRef Writer::join(const ScalarRef& condition, const ValueRef& a, Block& in_a, const ValueRef& b,
                      Block& in_b) {
  if (!alike(a, b)) throw NotNative{"a choice of differing structures"};
  const bool plain = in_a.empty() && in_b.empty();
  Block* outer = scalars_.block;
  std::vector<ValueRef> others;
  for_each_tensor(b, [&](const ValueRef& tensor) { others.push_back(tensor); });
  size_t next = 0;
  return with_tensors(a, [&](const ValueRef& tensor) -> ValueRef {
    const ValueRef& other = others[next++];
    if (same(*tensor, *other)) return tensor;
    scalars_.block = plain ? outer : &in_a;
    const ValueRef first = scalars_.in_registers(tensor);
    scalars_.block = plain ? outer : &in_b;
    const ValueRef second = scalars_.in_registers(other);
    scalars_.block = outer;
    auto result = std::make_shared<Value>(*first);
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
bool Writer::ends(Frame& frame, const Instruction& at) {
  if (at.op == Op::kReturn) {
    leave(frame, read(frame, at.a));
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
