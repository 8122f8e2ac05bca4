#include <bindings/values.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <bindings/arrays.h>
#include <bindings/bindings.h>
#include <bindings/numbers.h>

#include <nanobind/stl/shared_ptr.h>

#include <relay/eval/eval.h>
#include <relay/ir/constructor_tags.h>
#include <relay/runtime/format.h>
#include <relay/support/error.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

namespace {

KnownType field_type(const KnownType& type, const Value& value, size_t i) {
  const std::vector<TypeInfo>* types = type ? field_types(*type.check, *type.type, value) : nullptr;
  return types == nullptr ? KnownType() : type.part((*types)[i]);
}

/// The type of a reference's contents.
KnownType content_type(const KnownType& reference) {
  bool known = reference && reference.type->kind == TypeInfo::Kind::kReference &&
               !reference.type->fields.empty();
  return known ? reference.part(reference.type->fields[0]) : KnownType();
}

}  // namespace

nb::object object_of_value(Value value, const std::shared_ptr<Machines>& machine,
                           const KnownType& type) {
  switch (value.kind()) {
    case Value::Kind::kNone:
      return nb::none();
    case Value::Kind::kScalar:
    case Value::Kind::kTensor: {
      NDArray array = value.array();
      value = Value();
      if (array.dtype() == kBFloat16) return nb::cast(array);
      return numpy_of(array, array.unique() || array.is_uniform());
    }
    case Value::Kind::kTuple: {
      nb::list fields;
      std::vector<KnownType> types;
      for (size_t i = 0; i < value.fields().size(); ++i)
        types.push_back(field_type(type, value, i));
      std::span<Value> own = value.unique_fields();
      for (size_t i = 0; i < types.size(); ++i) {
        Value field = own.empty() ? value.field(i) : std::move(own[i]);
        fields.append(object_of_value(std::move(field), machine, types[i]));
      }
      return nb::tuple(fields);
    }
    default:
      return nb::cast(ValueObject{value, machine, type});
  }
}

namespace {

/// A reference that goes into a program has the program's type from then on.
void adopt_type(ValueObject& held, const KnownType& wanted) {
  if (!held.value.is_reference() || !content_type(wanted)) return;
  if (!held.type) {
    held.type = wanted;
  } else if (!is_usable_as(*held.type.check, *held.type.type, *wanted.check, *wanted.type)) {
    throw Refusal("expected " + type_text(*wanted.check, *wanted.type) + ", found " +
                  type_text(*held.type.check, *held.type.type));
  }
}

/// The source of values that are no arrays; nothing for arrays.
std::string_view where_from(TypeInfo::Kind kind) {
  switch (kind) {
    case TypeInfo::Kind::kFunction:
      return "functions come from programs";
    case TypeInfo::Kind::kData:
      return "relay.Value(constructor, fields) makes a value of a data type";
    case TypeInfo::Kind::kReference:
      return "relay.Value.reference(value) makes a reference";
    default:
      return {};
  }
}

/// A value of anything that is one; `wanted`, if known, gives numbers and lists their dtype.
Value value_of(nb::handle object, const KnownType& wanted, Memory memory,
               std::vector<nb::object>* gifts) {
  RecursionScope nesting(" in an argument of a program");
  ValueObject* held = nullptr;
  if (nb::try_cast(object, held) && held != nullptr) {
    adopt_type(*held, wanted);
    return held->value;
  }
  TypeInfo::Kind kind = wanted ? wanted.type->kind : TypeInfo::Kind::kAny;
  bool tuple = PyTuple_Check(object.ptr()) != 0;
  if ((kind == TypeInfo::Kind::kTuple && (tuple || PyList_Check(object.ptr()))) ||
      (kind != TypeInfo::Kind::kTensor && tuple)) {
    std::vector<Value> fields;
    for (nb::handle item : nb::iter(object)) {
      bool known = kind == TypeInfo::Kind::kTuple && fields.size() < wanted.type->fields.size();
      KnownType type = known ? wanted.part(wanted.type->fields[fields.size()]) : KnownType();
      fields.push_back(value_of(item, type, memory, gifts));
    }
    return Value::tuple(std::move(fields));
  }
  // Arrays keep their dtype, so that a wrong one is reported; Python's numbers have none.
  std::optional<DType> dtype;
  bool plain = is_plain(object);
  if (plain && kind == TypeInfo::Kind::kTensor && wanted.type->dtype.valid())
    dtype = wanted.type->dtype;
  try {
    if (memory == Memory::kGiven) {
      if (NDArray given = given_array(object)) {
        if (gifts != nullptr) gifts->push_back(nb::borrow(object));
        return Value(std::move(given));
      }
    }
    NDArray array = array_of(object, dtype);
    return Value(memory == Memory::kOwn && !plain ? array.copy() : array);
  } catch (const Refusal&) {
    if (std::string_view where = where_from(kind); !where.empty()) {
      throw Refusal("expected " + type_text(*wanted.check, *wanted.type) + ", found " +
                    shown(object) + ": " + std::string(where));
    }
    throw;
  }
}

}  // namespace

Memory memory_of_arguments(const TypeInfo& result) {
  using Kind = TypeInfo::Kind;
  bool lives_on = result.kind == Kind::kFunction || result.kind == Kind::kReference ||
                  result.kind == Kind::kData || result.kind == Kind::kAny;
  if (result.kind == Kind::kTuple) {
    lives_on = std::any_of(result.fields.begin(), result.fields.end(), [](const TypeInfo& field) {
      return memory_of_arguments(field) == Memory::kOwn;
    });
  }
  return lives_on ? Memory::kOwn : Memory::kShared;
}

Memory memory_of_arguments(const vm::Entry& entry) {
  using Kind = TypeInfo::Kind;
  std::vector<const TypeInfo*> open;
  for (const TypeCheck::Part& param : entry.params.parts) open.push_back(&param.type);
  while (!open.empty()) {
    const TypeInfo& type = *open.back();
    open.pop_back();
    if (type.kind == Kind::kReference || type.kind == Kind::kFunction || type.kind == Kind::kAny)
      return Memory::kOwn;
    if (type.kind != Kind::kTuple) continue;
    for (const TypeInfo& field : type.fields) open.push_back(&field);
  }
  return memory_of_arguments(entry.result.type);
}

Value named_value(nb::handle object, const KnownType& wanted, Memory memory,
                  const std::function<std::string()>& name, std::vector<nb::object>* gifts) {
  try {
    return value_of(object, wanted, memory, gifts);
  } catch (const Refusal& refusal) {
    refusal.raise(name());
  }
}

namespace {

/// The type of a reference without one, from its present contents; none if these do not determine
/// it.
std::optional<TypeInfo> type_of_content(const Value& value) {
  TypeInfo type;
  switch (value.kind()) {
    case Value::Kind::kScalar:
    case Value::Kind::kTensor:
      type.kind = TypeInfo::Kind::kTensor;
      type.dtype = value.dtype();
      type.dims.resize(value.shape().size());
      for (TypeInfo::Dim& dim : type.dims) dim.text = "?";
      return type;
    case Value::Kind::kTuple:
      type.kind = TypeInfo::Kind::kTuple;
      for (const Value& field : value.fields()) {
        std::optional<TypeInfo> known = type_of_content(field);
        if (!known) return std::nullopt;
        type.fields.push_back(std::move(*known));
      }
      return type;
    case Value::Kind::kData:
      type.kind = TypeInfo::Kind::kData;
      type.name = value.constructor()->type_name.str();
      return type;
    default:
      return std::nullopt;
  }
}

/// Replaces the contents of a reference. Programs that hold it rely on its type.
void set_content(const ValueObject& self, nb::handle object) {
  KnownType type = content_type(self.type);
  if (!type) {
    std::optional<TypeInfo> now = type_of_content(self.value.get());
    if (!now) throw nb::type_error("what the reference may hold is not known");
    auto check = std::make_shared<TypeCheck>();
    check->parts.emplace_back().type = std::move(*now);
    type = {check, &check->parts[0].type};
  }
  Value value =
      named_value(object, type, Memory::kOwn, [] { return std::string("the reference"); });
  TypeCheck told;
  TypeCheck::Part& part = told.parts.emplace_back();
  part.type = *type.type;
  part.text = type_text(*type.check, *type.type);
  part.what = "the reference";
  part.inside = true;
  const Value* values[] = {&value};
  TypeMismatch mismatch;
  if (!fits(*type.check, told.parts, values, false, mismatch))
    throw Error(mismatch_error(told, mismatch, [](const TypeCheck::Part&) { return Span(); }));
  self.value.set(std::move(value));
}

nb::object call_value(const ValueObject& self, const nb::args& args) {
  if (!self.value.is_closure()) throw nb::type_error("only closures can be called");
  const auto* closure = dynamic_cast<const TypedClosure*>(self.value.closure());
  KnownType type = closure == nullptr ? KnownType() : closure->type();
  if (type && args.size() + 1 != type.type->fields.size()) {
    size_t count = type.type->fields.size() - 1;
    throw nb::type_error((closure->name() + " takes " + std::to_string(count) +
                          (count == 1 ? " argument, found " : " arguments, found ") +
                          std::to_string(args.size()))
                             .c_str());
  }
  Memory memory = type ? memory_of_arguments(type.type->fields.back()) : Memory::kOwn;
  std::vector<Value> values;
  for (nb::handle arg : args) {
    size_t i = values.size();
    bool known = type && i + 1 < type.type->fields.size();
    values.push_back(
        named_value(arg, known ? type.part(type.type->fields[i]) : KnownType(), memory, [&] {
          return "argument " + std::to_string(i + 1) + " of " +
                 (closure == nullptr ? "a function" : closure->name());
        }));
  }
  Value result;
  if (self.machines) {
    result =
        self.machines->with([&](vm::Machine& machine) { return machine.call(self.value, values); });
  } else {
    result = without_lock([&] { return call_closure(self.value, values); });
  }
  return object_of_value(std::move(result), self.machines,
                         type ? type.part(type.type->fields.back()) : KnownType());
}

/// A value as program text has it, up to a length and a depth.
void append_value(std::string& text, const Value& value, int depth) {
  constexpr size_t kMost = 400;
  constexpr int kDeepest = 40;
  if (text.size() > kMost || depth > kDeepest) {
    text += "…";
    return;
  }
  auto fields = [&] {
    const char* between = "(";
    for (const Value& field : value.fields()) {
      text += between;
      append_value(text, field, depth + 1);
      between = ", ";
      if (text.size() > kMost) break;
    }
  };
  switch (value.kind()) {
    case Value::Kind::kScalar:
      text += format_value(value);
      return;
    case Value::Kind::kTensor:
      text += value_type_text(value);
      return;
    case Value::Kind::kTuple:
      if (value.fields().empty()) text += "(";
      fields();
      text += value.fields().size() == 1 ? ",)" : ")";
      return;
    case Value::Kind::kData:
      text += value.constructor()->name.view();
      if (value.fields().empty()) return;
      fields();
      text += ")";
      return;
    case Value::Kind::kReference:
      text += "ref(";
      append_value(text, value.get(), depth + 1);
      text += ")";
      return;
    default:
      text += "<" + std::string(kind_name(value.kind())) + ">";
  }
}

/// A value as a list of rows, for pickles and deep copies: arrays, and tuples of the parts of a
/// composite value, which refers to earlier rows by number. So depth does not matter, shared parts
/// stay shared, and references may refer to themselves: their contents are listed separately.
class Rows {
 public:
  nb::list rows;
  nb::list contents;  // pairs of rows: a reference, what it holds

  size_t add(const Value& root) {
    size_t row = add_acyclic(root);
    for (size_t i = 0; i < cells_.size(); ++i) {  // which grows meanwhile
      const auto [reference, content] = cells_[i];
      contents.append(nb::make_tuple(reference, add_acyclic(content)));
    }
    return row;
  }

 private:
  struct Frame {
    const Value* value;
    nb::list fields;
  };

  size_t add_acyclic(const Value& root) {
    if (std::optional<size_t> row = leaf(root)) return *row;
    std::vector<Frame> stack{{&root, nb::list()}};
    for (;;) {
      Frame& frame = stack.back();
      const Value& value = *frame.value;
      if (nb::len(frame.fields) < value.fields().size()) {
        const Value& field = value.field(nb::len(frame.fields));
        if (std::optional<size_t> row = leaf(field)) {
          frame.fields.append(*row);
        } else {
          stack.push_back({&field, nb::list()});
        }
        continue;
      }
      size_t row = nb::len(rows);
      if (value.is_tuple()) {
        rows.append(nb::make_tuple(frame.fields));
      } else {
        const ConstructorInfo& made_by = *value.constructor();
        rows.append(nb::make_tuple(frame.fields, nb::cast(made_by.type_name),
                                   nb::cast(made_by.name), made_by.tag));
      }
      if (!value.fields().empty()) known_[value.fields().data()] = row;
      stack.pop_back();
      if (stack.empty()) return row;
      stack.back().fields.append(row);
    }
  }

  // The row of a value without fields, or of one that is there already.
  std::optional<size_t> leaf(const Value& value) {
    const void* identity = nullptr;
    if (value.is_tuple() || value.is_data()) {
      auto found = known_.find(value.fields().data());
      if (value.fields().empty() || found == known_.end()) return std::nullopt;
      return found->second;
    }
    if (value.is_closure()) {
      throw nb::type_error(
          "a function value cannot be pickled: it is code of this process; save the program, and "
          "call it again");
    }
    size_t row = nb::len(rows);
    if (value.is_reference()) {
      identity = &value.get();
      if (auto found = known_.find(identity); found != known_.end()) return found->second;
      rows.append(nb::make_tuple());
      known_[identity] = row;
      cells_.emplace_back(row, value.get());
    } else {
      rows.append(object_of_value(value, nullptr, {}));
    }
    return row;
  }

  std::unordered_map<const void*, size_t> known_;
  std::vector<std::pair<size_t, Value>> cells_;
};

nb::tuple reduced(const ValueObject& self) {
  Rows rows;
  size_t root = rows.add(self.value);
  return nb::make_tuple(nb::module_::import_("relay.execution").attr("_value_of_rows"),
                        nb::make_tuple(rows.rows, rows.contents, root));
}

ValueObject value_of_rows(nb::list rows, nb::list contents, size_t root) {
  std::vector<Value> values;
  auto at = [&](nb::handle row) { return values.at(nb::cast<size_t>(row)); };
  for (nb::handle row : rows) {
    if (!PyTuple_Check(row.ptr())) {
      values.push_back(named_value(row, KnownType(), Memory::kOwn,
                                   [] { return std::string("an array of a data value"); }));
      continue;
    }
    if (nb::len(row) == 0) {
      values.push_back(Value::reference(Value()));
      continue;
    }
    std::vector<Value> fields;
    for (nb::handle field : nb::iter(row[0])) fields.push_back(at(field));
    if (nb::len(row) == 1) {
      values.push_back(Value::tuple(std::move(fields)));
    } else {
      const ConstructorInfo* info =
          ConstructorInfo::intern(nb::cast<Name>(row[2]), nb::cast<Name>(row[1]),
                                  nb::cast<int32_t>(row[3]), static_cast<uint32_t>(fields.size()));
      values.push_back(Value::data(info, std::move(fields)));
    }
  }
  for (nb::handle pair : contents) at(pair[0]).set(at(pair[1]));
  return {values.at(root), nullptr, {}};
}

/// A value of a data type, made by hand.
ValueObject data_value(const ConstructorRef& constructor, nb::handle fields) {
  std::vector<Value> values;
  for (nb::handle field : nb::iter(fields))
    values.push_back(named_value(field, KnownType(), Memory::kOwn, [&] {
      return "field " + std::to_string(values.size() + 1) + " of " + constructor->name().str();
    }));
  if (values.size() != constructor->inputs().size()) {
    throw nb::type_error((constructor->name().str() + " takes " +
                          std::to_string(constructor->inputs().size()) + " fields, not " +
                          std::to_string(values.size()))
                             .c_str());
  }
  if (constructor->ctor_tag() == kUnnumbered) {
    throw nb::value_error(
        ("constructor " + constructor->name().str() + " is of no data type yet").c_str());
  }
  const ConstructorInfo* info = ConstructorInfo::intern(
      constructor->name(), constructor->type_name()->name(),
      static_cast<int32_t>(constructor->ctor_tag()), static_cast<uint32_t>(values.size()));
  return {Value::data(info, std::move(values)), nullptr, {}};
}

ValueObject reference_value(nb::handle initial) {
  return {Value::reference(named_value(initial, KnownType(), Memory::kOwn,
                                       [] { return std::string("the reference"); })),
          nullptr,
          {}};
}

}  // namespace

void bind_values(nb::module_& m) {
  nb::class_<ValueObject>(m, "Value",
                          "A value that is no array: of a data type, a closure, a reference. "
                          "`Value(cons, [1.0, rest])` makes one of a data type, "
                          "`Value.reference(0.0)` a reference.")
      .def(
          "__init__",
          [](ValueObject* place, const ConstructorRef& constructor, nb::handle fields) {
            new (place) ValueObject(data_value(constructor, fields));
          },
          nb::arg("constructor"), nb::arg("fields") = nb::tuple(),
          "A value of a data type: its constructor (`mod.constructor(\"Cons\")`) and the fields.")
      .def_static("reference", &reference_value, nb::arg("initial"),
                  "A new mutable cell, which programs that get it write to.")
      .def_prop_ro(
          "kind",
          [](const ValueObject& self) -> std::string {
            if (self.value.is_data()) return "data";
            if (self.value.is_closure()) return "closure";
            return self.value.is_reference() ? "reference"
                                             : std::string(kind_name(self.value.kind()));
          },
          "\"data\", \"closure\" or \"reference\".")
      .def_prop_ro(
          "constructor",
          [](const ValueObject& self) -> nb::object {
            if (!self.value.is_data()) return nb::none();
            return nb::cast(self.value.constructor()->name);
          },
          "The name of a data value's constructor; None for other values.")
      .def_prop_ro(
          "tag",
          [](const ValueObject& self) { return self.value.is_data() ? self.value.tag() : -1; })
      .def_prop_ro("fields",
                   [](const ValueObject& self) {
                     nb::list fields;
                     size_t count = self.value.is_data() ? self.value.fields().size() : 0;
                     for (size_t i = 0; i < count; ++i) {
                       fields.append(object_of_value(self.value.field(i), self.machines,
                                                     field_type(self.type, self.value, i)));
                     }
                     return fields;
                   })
      .def_prop_rw(
          "value",
          [](const ValueObject& self) {
            if (!self.value.is_reference()) throw nb::type_error("only a reference holds a value");
            KnownType type = content_type(self.type);
            return object_of_value(leave_program(self.value.get(), type), self.machines, type);
          },
          [](const ValueObject& self, nb::handle value) {
            if (!self.value.is_reference()) throw nb::type_error("only a reference holds a value");
            set_content(self, value);
          },
          "What a reference holds; values written are of the type that it was made with.")
      .def("__call__", &call_value)
      .def(
          "__eq__",
          [](const ValueObject& self, nb::handle other) {
            ValueObject* value = nullptr;
            return nb::try_cast(other, value) && value != nullptr &&
                   bit_equal(self.value, value->value);
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const ValueObject&) -> size_t {
             throw nb::type_error("unhashable type: a value is equal by its contents");
           })
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def("__deepcopy__",
           [](nb::handle self, nb::handle memo) {
             const auto& held = *nb::inst_ptr<ValueObject>(self);
             if (held.value.is_closure()) return nb::borrow(self);
             nb::tuple made = reduced(held);
             nb::object arguments =
                 nb::module_::import_("copy").attr("deepcopy")(nb::object(made[1]), memo);
             return nb::object(made[0])(*nb::tuple(arguments));
           })
      .def("__reduce__", &reduced)
      .def("__repr__", [](const ValueObject& self) {
        std::string text;
        append_value(text, self.value, 0);
        return text;
      });

  m.def("data_value", &data_value, nb::arg("constructor"), nb::arg("fields"),
        "A value of a data type.");
  m.def("value_of_rows", &value_of_rows, nb::arg("rows"), nb::arg("contents"), nb::arg("root"));
  m.def("reference_value", &reference_value, nb::arg("initial"),
        "A new mutable cell, which programs that get it write to.");
}

}  // namespace relay::python
