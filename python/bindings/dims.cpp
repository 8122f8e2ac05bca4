// Dimensions: integers are Python's, everything else is a Dim.
#include <bindings/bindings.h>

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
// What makes the object of a known extent; nullptr for plain integers.
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
