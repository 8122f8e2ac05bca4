// Calls and loops.
#include <relay/vm/compiler/native/writer.h>

#include <algorithm>
#include <utility>

namespace relay::vm::native {

using te::ScalarKind;
using te::ScalarRef;

namespace {

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
    const size_t cells_made = cells_made_, cells_read = cells_read_;
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
    const bool ends_tape = free_tape(frame, cells_made, cells_read);
    append(*outside, frame.before);
    if (known.loops) {
      outside->push_back({lower::Repeat{std::move(frame.body)}});
      ++repeats_;
    } else {
      append(*outside, frame.body);
    }
    if (ends_tape)
      outside->push_back({lower::Set{used_, te::placeholder(frame.mark, kInt64).ref()}});
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
  const ValueRef& structure = frame.known->state;
  const ValueRef from = structure == nullptr ? state : fit(state, structure);
  frame.state = with_tensors(from, [&](const ValueRef& tensor) -> ValueRef {
    if (frame.known->changes[number++] == 0) return tensor;
    auto copy = std::make_shared<Value>(*scalars_.in_registers(tensor));
    copy->tag = -1;
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
void Writer::again(Frame& frame, const ValueRef& arguments) {
  Known& known = *frame.known;
  ValueRef state = arguments;
  if (!alike(state, frame.state)) {
    const ValueRef structure = common(frame.state, state);
    if (!alike(structure, frame.state)) {
      known.state = structure;
      known.changes.clear();
      for_each_tensor(structure, [&](const ValueRef&) { known.changes.push_back(0); });
      known.loops = frame.retry = true;
      return;
    }
    state = fit(state, structure);
  }
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
void Writer::leave(Frame& frame, const ValueRef& way_out) {
  if (frame.retry) return;
  Known& known = *frame.known;
  const ValueRef value = known.result == nullptr ? way_out : fit(way_out, known.result);
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
      copy->tag = -1;
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
  if (!alike(frame.result, value)) {
    known.result = common(frame.result, value);
    known.results.clear();
    frame.retry = true;
    return;
  }
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

}  // namespace relay::vm::native
