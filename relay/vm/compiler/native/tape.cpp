// Data values: made in registers, and put on the kernel's tape where their constructors differ from
// turn to turn or from arm to arm.
#include <algorithm>

#include <relay/vm/compiler/native/writer.h>

namespace relay::vm::native {

using te::Scalar;
using te::ScalarKind;
using te::ScalarRef;

namespace {

constexpr const char* kNoRoom =
    "the data values that this loop keeps need more memory than the memory limit leaves";

/// An element as a slot of the tape, and back. Floats of 16 bits and fewer are exact in 32.
ScalarRef to_slot(const Scalar& x) {
  const DType dtype = x.dtype();
  if (!dtype.is_float())
    return (dtype == kUInt64 ? te::bitcast(x, kInt64) : te::cast(x, kInt64)).ref();
  if (dtype.bits == 64) return te::bitcast(x, kInt64).ref();
  return te::cast(te::bitcast(te::cast(x, kFloat32), kInt32), kInt64).ref();
}

ScalarRef from_slot(const Scalar& slot, DType dtype) {
  if (dtype.is_bool()) return (slot != 0).ref();
  if (!dtype.is_float())
    return (dtype == kUInt64 ? te::bitcast(slot, dtype) : te::cast(slot, dtype)).ref();
  if (dtype.bits == 64) return te::bitcast(slot, dtype).ref();
  return te::cast(te::bitcast(te::cast(slot, kInt32), kFloat32), dtype).ref();
}

bool has_made(const ValueRef& value, const TypeRef& type) {
  if (value->kind == Value::Kind::kMade && value->data.get() == type.get()) return true;
  return std::ranges::any_of(value->fields,
                             [&](const ValueRef& field) { return has_made(field, type); });
}

}  // namespace

/// A data value in registers. Values of a type in each other are on the tape but for the outermost,
/// so that values nest no deeper than types.
ValueRef Writer::made(Frame& frame, uint32_t at, uint32_t position) {
  const Source& source = program_.sources[frame.function];
  const Instruction& instruction = source.code.code[at];
  auto type = source.made.find(at);
  if (type == source.made.end()) throw NotNative{"a value of an unknown type"};
  auto value = std::make_shared<Value>();
  value->kind = Value::Kind::kMade;
  value->data = type->second;
  value->tag = program_.executable.constructors[instruction.a]->tag;
  value->position = position;
  value->fields = arguments(frame, instruction, 0);
  const DataTypes::Layout& layout = types_.layout(value->data);
  if (layout.cells.at(static_cast<size_t>(value->tag)).fields.size() != value->fields.size())
    throw NotNative{"another number of fields"};
  for (ValueRef& field : value->fields) {
    if (has_made(field, value->data)) field = with_data_on_tape(field);
  }
  return value;
}

ValueRef Writer::with_data_on_tape(const ValueRef& value) {
  if (value->kind == Value::Kind::kMade) return on_tape(value);
  if (value->is_tensor()) return value;
  auto copy = std::make_shared<Value>(*value);
  for (ValueRef& field : copy->fields) field = with_data_on_tape(field);
  return copy;
}

void Writer::elements_of(const ValueRef& value, std::vector<ScalarRef>& slots) {
  switch (value->kind) {
    case Value::Kind::kClosure:
      throw NotNative{"a function in a data value"};
    case Value::Kind::kMade:
      slots.push_back(on_tape(value)->elements[0]);
      return;
    case Value::Kind::kTuple:
      for (const ValueRef& field : value->fields) elements_of(field, slots);
      return;
    case Value::Kind::kTensor:
      for (const ScalarRef& element : scalars_.in_registers(value)->elements)
        slots.push_back(to_slot(Scalar(element)));
  }
}

/// A data value as a number; its cell is written if it has fields.
ValueRef Writer::on_tape(const ValueRef& value) {
  if (value->kind != Value::Kind::kMade) return value;
  const DataTypes::Layout& layout = types_.layout(value->data);
  const DataTypes::Cell& cell = layout.cells.at(static_cast<size_t>(value->tag));
  if (cell.fields.empty())
    return data_of(value->data, te::index_constant(-1 - int64_t{value->tag}).ref());
  std::vector<ScalarRef> slots;
  if (layout.has_tags()) slots.push_back(te::index_constant(value->tag).ref());
  for (const ValueRef& field : value->fields) elements_of(field, slots);
  if (slots.size() != static_cast<size_t>(cell.slots)) throw NotNative{"fields of another type"};
  ++cells_made_;
  scalars_.count(slots.size() + 2);
  const int32_t buffer = tape();
  const Scalar used = te::placeholder(used_, kInt64);
  const uint32_t var = scalars_.fresh_var();
  const Scalar first = te::placeholder(var, kInt64);
  Block& block = *scalars_.block;
  block.push_back({lower::Let{var, used.ref()}});
  // A memory limit may end any function, so the place is told without the calls that led to it.
  const uint32_t origin = value->position == 0 ? 0 : origin_at(value->position);
  block.push_back({lower::Grow{room_, (first + cell.slots).ref(), kNoRoom, origin}});
  for (size_t k = 0; k < slots.size(); ++k)
    block.push_back({lower::Store{buffer, {(first + static_cast<int64_t>(k)).ref()}, slots[k]}});
  block.push_back({lower::Set{used_, (first + cell.slots).ref()}});
  return data_of(value->data, first.ref());
}

int32_t Writer::tape() {
  if (tape_ >= 0) return tape_;
  used_ = scalars_.fresh_var();
  room_ = scalars_.fresh_var();
  constexpr int64_t kSlots = int64_t{1} << 40;  // more than there are
  return tape_ = scalars_.add_buffer(lower::Buffer::Role::kTape, kInt64, kSlots);
}

ScalarRef Writer::slot(const Scalar& place) {
  return scalars_.let(Scalars::load_at(tape(), kInt64, place));
}

/// The constructor of a data value; -1 if it is not known.
int32_t Writer::known_tag(const Value& value) {
  if (!value.is_data()) throw NotNative{"a match on other values"};
  if (value.tag >= 0) return value.tag;
  const ScalarRef& number = value.elements[0];
  if (number->kind == ScalarKind::kConst) return static_cast<int32_t>(-1 - number->value.i);
  return types_.layout(value.data).cells.size() == 1 ? 0 : -1;
}

ScalarRef Writer::has_tag(const Value& value, int32_t tag) {
  const DataTypes::Layout& layout = types_.layout(value.data);
  const Scalar number(value.elements[0]);
  if (layout.cells.at(static_cast<size_t>(tag)).fields.empty())
    return (number == -1 - int64_t{tag}).ref();
  const Scalar cell = number >= 0;
  if (!layout.has_tags()) return cell.ref();
  return (cell && Scalar(slot(te::max(number, te::index_constant(0)))) == int64_t{tag}).ref();
}

ValueRef Writer::field_of(const ValueRef& value, uint32_t index) {
  if (!value->is_tensor()) {
    if (value->kind == Value::Kind::kClosure) throw NotNative{"a field of a function"};
    return value->fields.at(index);
  }
  const int32_t tag = known_tag(*value);
  if (tag < 0) throw NotNative{"a field of an unknown constructor"};
  const DataTypes::Cell& cell = types_.layout(value->data).cells.at(static_cast<size_t>(tag));
  ++cells_read_;
  int64_t place = cell.first.at(index);
  return loaded(cell.fields[index], Scalar(value->elements[0]), place);
}

ValueRef Writer::loaded(const TypeRef& type, const Scalar& cell, int64_t& place) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<ValueRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(loaded(field, cell, place));
    return tuple_of(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr) return data_of(type, slot(cell + place++));
  auto value = std::make_shared<Value>();
  value->dtype = tensor->dtype();
  for (Dim dim : tensor->dims()) value->shape.push_back(dim.as_int());
  for (int64_t i = 0; i < value->size(); ++i) {
    const Scalar element(slot(cell + place++));
    value->elements.push_back(scalars_.let(from_slot(element, value->dtype)));
  }
  return value;
}

/// The value in a structure that `common` found for it.
ValueRef Writer::fit(const ValueRef& value, const ValueRef& structure) {
  if (value->kind == Value::Kind::kMade && structure->is_tensor()) return on_tape(value);
  if (value->is_tensor() || alike(value, structure)) return value;
  auto copy = std::make_shared<Value>(*value);
  for (size_t i = 0; i < copy->fields.size(); ++i)
    copy->fields[i] = fit(value->fields[i], structure->fields.at(i));
  return copy;
}

/// Cells that nothing names any more are given up: at the end of a function that returns none, and
/// at the beginning of a turn those behind the last one that the state names, because cells name
/// only cells before them. Gives true if the end of the function has to.
bool Writer::free_tape(Frame& frame, size_t made, size_t read) {
  if (cells_made_ == made) return false;
  frame.mark = scalars_.fresh_var();
  const ScalarRef used = te::placeholder(used_, kInt64).ref();
  frame.before.insert(frame.before.begin(), lower::Stmt{lower::Let{frame.mark, used}});
  bool in_state = false, in_result = false;
  for_each_tensor(frame.result, [&](const ValueRef& value) { in_result |= value->is_data(); });
  if (frame.known->loops) {
    Block turn;
    scalars_.block = &turn;
    Scalar kept = te::placeholder(frame.mark, kInt64);
    for_each_tensor(frame.state, [&](const ValueRef& value) {
      if (!value->is_data()) return;
      in_state = true;
      kept = te::max(kept, end_of(*value));
    });
    if (!in_state || cells_read_ != read) {
      turn.push_back({lower::Set{used_, kept.ref()}});
      frame.body.insert(frame.body.begin(), std::make_move_iterator(turn.begin()),
                        std::make_move_iterator(turn.end()));
    }
  }
  return !in_result;
}

/// The first slot behind the cell of a data value; any small number if it has none.
Scalar Writer::end_of(const Value& value) {
  const DataTypes::Layout& layout = types_.layout(value.data);
  const Scalar number(value.elements[0]);
  if (layout.on_tape.empty() || number.node()->kind == ScalarKind::kConst)
    return te::index_constant(0);
  auto slots = [&](int32_t tag) { return layout.cells[static_cast<size_t>(tag)].slots; };
  if (!layout.has_tags()) return number + slots(layout.on_tape[0]);
  const Scalar tag(slot(te::max(number, te::index_constant(0))));
  Scalar size = te::index_constant(slots(layout.on_tape[0]));
  for (size_t k = 1; k < layout.on_tape.size(); ++k) {
    size = te::select(tag == int64_t{layout.on_tape[k]},
                      te::index_constant(slots(layout.on_tape[k])), size);
  }
  return number + size;
}

/// The registers of the tape, in front of all else.
void Writer::begin_tape(Block& body) {
  if (tape_ < 0) return;
  const ScalarRef none = te::index_constant(0).ref();
  body.insert(body.begin(), lower::Stmt{lower::Let{room_, none}});
  body.insert(body.begin(), lower::Stmt{lower::Let{used_, none}});
}

}  // namespace relay::vm::native
