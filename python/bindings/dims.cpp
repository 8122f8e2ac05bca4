// Dimensions: integers are Python's, everything else is a Dim.
#include <bindings/bindings.h>

#include <unordered_map>

#include <relay/ir/dim.h>

namespace relay::python {

namespace {

/// The class in Python: a Dim itself is converted by value.
struct DimObject {
  Dim dim;
};

}  // namespace

std::optional<Dim> dim_of(nb::handle object) {
  if (PyBool_Check(object.ptr())) return std::nullopt;
  if (PyIndex_Check(object.ptr())) {
    nb::object number = nb::steal(PyNumber_Index(object.ptr()));
    if (!number) {
      PyErr_Clear();
      return std::nullopt;
    }
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) return std::nullopt;
    return Dim(static_cast<int64_t>(value));
  }
  if (nb::isinstance<DimObject>(object)) return nb::inst_ptr<DimObject>(object)->dim;
  TypeVarRef var;
  if (nb::try_cast(object, var) && var->var_kind() == Kind::kShapeVar)
    return Dim::symbol(var.get());
  return std::nullopt;
}

namespace {
// Makes the object of a known extent; nullptr for plain integers.
PyObject* maker_of_integers = nullptr;
}  // namespace

nb::object object_of_dim(Dim dim) {
  if (dim.is_int()) {
    nb::object number = nb::int_(dim.as_int());
    return maker_of_integers == nullptr ? number : nb::handle(maker_of_integers)(number);
  }
  return nb::cast(DimObject{dim});
}

namespace {

using Operation = Dim (*)(Dim, Dim);

// Terms as lists of rows for pickles: an integer, a type variable, None for `?`, ("+", constant,
// coefficient, row, …) for a sum, else (operation, row, row). A row refers to those before it.
constexpr const char* kSum = "+";
constexpr DimOp kBinary[] = {DimOp::kMul, DimOp::kFloorDiv, DimOp::kFloorMod, DimOp::kCeilDiv,
                             DimOp::kMin, DimOp::kMax,      DimOp::kBroadcast};

size_t add_rows(Dim dim, nb::list& rows, std::unordered_map<Dim, size_t>& known) {
  if (auto found = known.find(dim); found != known.end()) return found->second;
  nb::object row;
  if (dim.is_int()) {
    row = nb::int_(dim.as_int());
  } else if (dim.is_any() || dim.is_variable()) {
    row = nb::none();
  } else if (const TypeVar* symbol = dim.as_symbol()) {
    row = nb::cast(TypeVarRef(symbol));
  } else if (const DimTerm& term = dim.term(); term.op == DimOp::kLinear) {
    nb::list sum;
    sum.append(kSum);
    sum.append(term.constant);
    for (const DimTerm::Part& part : term.parts) {
      sum.append(part.coefficient);
      sum.append(add_rows(part.atom, rows, known));
    }
    row = nb::tuple(sum);
  } else if (term.op == DimOp::kValue) {
    throw nb::type_error(("the extent " + dim.str() + " is of a running inference").c_str());
  } else {
    size_t lhs = add_rows(term.lhs, rows, known), rhs = add_rows(term.rhs, rows, known);
    row = nb::make_tuple(dim_op_name(term.op), lhs, rhs);
  }
  known[dim] = nb::len(rows);
  rows.append(row);
  return known[dim];
}

Dim dim_of_row(nb::handle row, const std::vector<Dim>& before) {
  if (row.is_none()) return Dim::any();
  if (!PyTuple_Check(row.ptr())) {
    if (std::optional<Dim> dim = dim_of(row)) return *dim;
    throw nb::value_error("no row of an extent");
  }
  auto at = [&](size_t i) { return before.at(nb::cast<size_t>(row[i])); };
  auto name = nb::cast<std::string>(row[0]);
  if (name == kSum) {
    Dim sum = nb::cast<int64_t>(row[1]);
    for (size_t i = 2; i + 1 < nb::len(row); i += 2)
      sum = sum + Dim(nb::cast<int64_t>(row[i])) * at(i + 1);
    return sum;
  }
  for (DimOp op : kBinary) {
    if (name != dim_op_name(op)) continue;
    if (std::optional<Dim> made = apply_dim_op(op, at(1), at(2))) return *made;
  }
  throw nb::value_error("no row of an extent");
}

Dim operand(nb::handle object) {
  if (std::optional<Dim> dim = dim_of(object)) return *dim;
  throw nb::type_error("an integer or a dimension is wanted");
}

}  // namespace

void bind_dims(nb::module_& m) {
  m.def(
      "set_integer_dims",
      [](nb::callable maker) {
        nb::object number = nb::int_(7), made = maker(number);
        if (PyLong_Check(made.ptr()) == 0 || !made.equal(number))
          throw nb::type_error("what makes extents of integers must make integers of them");
        Py_XDECREF(maker_of_integers);
        maker_of_integers = maker.release().ptr();
      },
      nb::arg("maker"),
      "Known extents are given as what `maker` makes of an integer, which must be one, too.");
  auto dim = nb::class_<DimObject>(
      m, "Dim",
      "A dimension that is no plain integer: `?`, a name, or a term over names. Arithmetic gives "
      "terms in a normal form, so that == decides whether two terms are the same.");
  dim.def(
      "__init__", [](DimObject* place, nb::handle value) { new (place) DimObject{operand(value)}; },
      nb::arg("value"), "From an integer, another dimension, or a type variable of kind ShapeVar.");
  dim.def_static(
      "any", [] { return object_of_dim(Dim::any()); }, "`?`: known only at run time.");
  dim.def_prop_ro("is_any", [](nb::handle self) { return operand(self).is_any(); });
  dim.def_prop_ro(
      "symbol",
      [](nb::handle self) -> std::optional<TypeVarRef> {
        const TypeVar* symbol = operand(self).as_symbol();
        if (symbol == nullptr) return std::nullopt;
        return TypeVarRef(symbol);
      },
      "The type variable, where the dimension is a name alone; else None.");
  m.def(
      "dim_rows",
      [](nb::handle self) {
        nb::list rows;
        std::unordered_map<Dim, size_t> known;
        add_rows(operand(self), rows, known);
        return rows;
      },
      nb::arg("dim"), "The parts of a dimension, for pickles.");
  m.def(
      "dim_of_rows",
      [](nb::list rows) {
        std::vector<Dim> made;
        for (nb::handle row : rows) made.push_back(dim_of_row(row, made));
        if (made.empty()) throw nb::value_error("no row of an extent");
        return nb::cast(DimObject{made.back()});
      },
      nb::arg("rows"));
  m.def(
      "broadcast_extents",
      [](nb::handle a, nb::handle b) {
        std::optional<Dim> joined = broadcast(operand(a), operand(b));
        return joined ? object_of_dim(*joined) : nb::none();
      },
      nb::arg("a"), nb::arg("b"), nb::sig("def broadcast_extents(a: object, b: object) -> Any"),
      "The extent under NumPy's broadcasting; None if two known extents differ and none is 1.");
  dim.def("__copy__", [](nb::object self) { return self; });
  dim.def(
      "__deepcopy__", [](nb::object self, nb::handle) { return self; }, nb::arg("memo"));
  dim.def("__str__", [](nb::handle self) { return operand(self).str(); });
  dim.def("__repr__", [](nb::handle self) { return "Dim(" + operand(self).str() + ")"; });
  dim.def("__hash__", [](nb::handle self) { return std::hash<Dim>()(operand(self)); });
  auto both = [&](const char* name, const char* mirrored, Operation operation) {
    dim.def(
        name,
        [operation](nb::handle a, nb::handle b) {
          return object_of_dim(operation(operand(a), operand(b)));
        },
        nb::is_operator());
    if (mirrored != nullptr) {
      dim.def(
          mirrored,
          [operation](nb::handle a, nb::handle b) {
            return object_of_dim(operation(operand(b), operand(a)));
          },
          nb::is_operator());
    }
  };
  both("__add__", "__radd__", [](Dim a, Dim b) { return a + b; });
  both("__sub__", "__rsub__", [](Dim a, Dim b) { return a - b; });
  both("__mul__", "__rmul__", [](Dim a, Dim b) { return a * b; });
  both("__floordiv__", "__rfloordiv__", [](Dim a, Dim b) { return floor_div(a, b); });
  both("__mod__", "__rmod__", [](Dim a, Dim b) { return floor_mod(a, b); });
  both("min", nullptr, [](Dim a, Dim b) { return min(a, b); });
  both("max", nullptr, [](Dim a, Dim b) { return max(a, b); });
  dim.def("__neg__", [](nb::handle a) { return object_of_dim(Dim(0) - operand(a)); });
  dim.def(
      "__eq__",
      [](nb::handle a, nb::handle b) {
        std::optional<Dim> other = dim_of(b);
        return other && operand(a) == *other;
      },
      nb::arg("other").none());
  dim.def(
      "__ne__",
      [](nb::handle a, nb::handle b) {
        std::optional<Dim> other = dim_of(b);
        return !other || !(operand(a) == *other);
      },
      nb::arg("other").none());
}

}  // namespace relay::python
