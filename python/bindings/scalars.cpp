#include <bindings/scalars.h>

#include <algorithm>
#include <cmath>

#include <bindings/bindings.h>
#include <bindings/callbacks.h>

#include <relay/support/error.h>

namespace relay::python {

void type_error(const std::string& text) { throw nb::type_error(text.c_str()); }
void value_error(const std::string& text) { throw nb::value_error(text.c_str()); }

te::FreeSet joined(const te::FreeSet& a, const te::FreeSet& b) {
  te::FreeSet both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

SessionRef joined(const SessionRef& a, const SessionRef& b) {
  if (a && b && a != b)
    value_error("scalars or tensors of two computations cannot be used together");
  return a ? a : b;
}

void check_usable(const ScalarObject& scalar) {
  if (!scalar.session) return;
  if (!scalar.session->open)
    value_error("this scalar belongs to a compute function that has returned");
  const te::FreeSet& scope = scalar.session->scope;
  for (uint32_t id : scalar.free) {
    if (std::find(scope.begin(), scope.end(), id) == scope.end())
      value_error(
          "an index or accumulator is used outside of the map, reduction or scan that it belongs "
          "to");
  }
}

namespace {

std::string text_of(DType dtype) { return std::string(dtype.name()); }

// A Python number as a constant of a dtype that can hold it.
te::Scalar number(nb::handle object, DType dtype, const std::string& what) {
  std::string shown = nb::cast<std::string>(nb::repr(object));
  auto refuse = [&] {
    type_error(what + ": " + shown + " does not fit " + text_of(dtype) + "; use te.cast");
  };
  if (PyBool_Check(object.ptr())) {
    if (!dtype.is_bool()) refuse();
    return te::constant(static_cast<int64_t>(object.ptr() == Py_True), dtype);
  }
  if (dtype.is_bool()) refuse();
  if (PyIndex_Check(object.ptr())) {
    nb::object exact = nb::steal(PyNumber_Index(object.ptr()));
    if (!exact) throw nb::python_error();
    if (dtype.is_float()) {
      double value = PyLong_AsDouble(exact.ptr());
      if (value == -1 && PyErr_Occurred()) throw nb::python_error();
      return te::constant(value, dtype);
    }
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(exact.ptr(), &overflow);
    bool fits = overflow == 0;
    if (fits && dtype.bits < 64) {
      long long low = dtype.is_signed() ? -(1LL << (dtype.bits - 1)) : 0;
      long long high = dtype.is_signed() ? (1LL << (dtype.bits - 1)) - 1 : (1LL << dtype.bits) - 1;
      fits = value >= low && value <= high;
    } else if (fits && !dtype.is_signed()) {
      fits = value >= 0;
    }
    if (!fits) value_error(what + ": " + shown + " is beyond " + text_of(dtype));
    return te::constant(static_cast<int64_t>(value), dtype);
  }
  if (!dtype.is_float()) refuse();
  double value = PyFloat_AsDouble(object.ptr());
  if (value == -1 && PyErr_Occurred()) throw nb::python_error();
  return te::constant(value, dtype);
}

bool is_number(nb::handle object) {
  if (PyBool_Check(object.ptr()) || PyFloat_Check(object.ptr()) || PyIndex_Check(object.ptr()))
    return true;
  // NumPy's numbers of 16 and 32 bits.
  return nb::hasattr(object, "dtype") && nb::hasattr(object, "__float__") &&
         nb::hasattr(object, "ndim") && nb::cast<int>(object.attr("ndim")) == 0;
}

bool is_scalar_like(nb::handle object) {
  return nb::isinstance<ScalarObject>(object) || dim_of(object).has_value() || is_number(object);
}

}  // namespace

ScalarObject scalar_of(nb::handle object, std::optional<DType> wanted, const std::string& what) {
  if (nb::isinstance<ScalarObject>(object)) {
    ScalarObject scalar = *nb::inst_ptr<ScalarObject>(object);
    check_usable(scalar);
    return scalar;
  }
  if (nb::isinstance<TensorObject>(object))
    type_error(what + ": a tensor is not a scalar; read an element of it, `x[i, j]`");
  if (is_number(object)) {
    DType dtype = wanted                        ? *wanted
                  : PyBool_Check(object.ptr())  ? kBool
                  : PyIndex_Check(object.ptr()) ? kInt64
                                                : kFloat32;
    return {number(object, dtype, what), nullptr, {}};
  }
  if (std::optional<Dim> dim = dim_of(object)) {
    te::Scalar value = te::from_dim(*dim);
    return {wanted ? te::cast(value, *wanted) : value, nullptr, {}};
  }
  type_error(what + ": a scalar, a number or a dimension is wanted, not " + class_name_of(object));
}

ScalarObject index_scalar(nb::handle object, const std::string& what) {
  if (!is_scalar_like(object) && !nb::isinstance<TensorObject>(object))
    type_error(what + ": an index is an integer scalar, not " + class_name_of(object));
  ScalarObject index = scalar_of(object, std::nullopt, what);
  DType dtype = index.value.dtype();
  if (!dtype.is_integer()) type_error(what + ": an index is an integer, not " + text_of(dtype));
  if (dtype != kInt64) index.value = te::cast(index.value, kInt64);
  return index;
}

namespace {

/// The least and greatest value of an index over its axes, in terms of extents.
struct Range {
  Dim low, high;
};

std::optional<Range> range_of(const te::ScalarNode& node, const Session& session, int depth) {
  if (depth > 64) return std::nullopt;
  auto operand = [&](size_t i) { return range_of(*node.args[i], session, depth + 1); };
  switch (node.kind) {
    case te::ScalarKind::kConst:
      return Range{Dim(node.value.i), Dim(node.value.i)};
    case te::ScalarKind::kFromDim:
      return Range{node.dim, node.dim};
    case te::ScalarKind::kIndex: {
      auto extent = session.extents.find(node.axis);
      if (extent == session.extents.end()) return std::nullopt;
      return Range{Dim(0), extent->second - Dim(1)};
    }
    case te::ScalarKind::kBinary:
      break;
    default:
      return std::nullopt;
  }
  std::optional<Range> a = operand(0), b = operand(1);
  if (!a || !b) return std::nullopt;
  switch (node.binary) {
    case te::BinaryOp::kAdd:
      return Range{a->low + b->low, a->high + b->high};
    case te::BinaryOp::kSub:
      return Range{a->low - b->high, a->high - b->low};
    case te::BinaryOp::kMul: {
      if (!(b->low == b->high)) std::swap(a, b);
      if (!(b->low == b->high) || !b->low.is_int() || b->low.as_int() < 0) return std::nullopt;
      return Range{a->low * b->low, a->high * b->low};
    }
    case te::BinaryOp::kFloorMod:
      if (!(b->low == b->high) || !b->low.is_int() || b->low.as_int() <= 0) return std::nullopt;
      return Range{Dim(0), b->low - Dim(1)};
    case te::BinaryOp::kFloorDiv:
      if (!(b->low == b->high) || !b->low.is_int() || b->low.as_int() <= 0) return std::nullopt;
      return Range{floor_div(a->low, b->low), floor_div(a->high, b->low)};
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_within(const te::ScalarNode& index, Dim extent, const Session& session) {
  try {
    if (extent.is_any() || extent.is_variable()) return false;
    std::optional<Range> range = range_of(index, session, 0);
    if (!range || !range->low.is_int() || range->low.as_int() < 0) return false;
    Dim left = extent - Dim(1) - range->high;
    return left.is_int() && left.as_int() >= 0;
  } catch (const Error&) {  // numbers beyond 64 bits
    return false;
  }
}

namespace {

ScalarObject both(const ScalarObject& a, const ScalarObject& b, te::Scalar value) {
  return {std::move(value), joined(a.session, b.session), joined(a.free, b.free)};
}

template <class Ops, class Op>
Op named(const Ops& ops, const std::string& word, const char* what) {
  for (size_t i = 0; i < std::size(ops); ++i) {
    if (ops[i].word == word) return static_cast<Op>(i);
  }
  value_error("there is no " + std::string(what) + " operation " + word);
}

ScalarObject apply(te::BinaryOp op, const ScalarObject& a, const ScalarObject& b) {
  const ScalarOp& facts = scalar_op(op);
  std::string word(facts.word);
  DType dtype = a.value.dtype();
  if (dtype != b.value.dtype()) {
    type_error(word + " of " + text_of(dtype) + " and " + text_of(b.value.dtype()) +
               ": te.cast one to the dtype of the other");
  }
  if (facts.on(dtype).is == ScalarForm::Is::kNothing)
    type_error(word + " is not defined on " + text_of(dtype));
  return both(a, b, te::binary(op, a.value, b.value));
}

ScalarObject binary(te::BinaryOp op, nb::handle x, nb::handle y) {
  std::string word(scalar_op(op).word);
  bool of_x = nb::isinstance<ScalarObject>(x);
  ScalarObject a = of_x ? scalar_of(x, std::nullopt, word) : ScalarObject();
  ScalarObject b = scalar_of(y, of_x ? std::optional(a.value.dtype()) : std::nullopt, word);
  if (!of_x) a = scalar_of(x, b.value.dtype(), word);
  return apply(op, a, b);
}

ScalarObject unary(te::UnaryOp op, nb::handle x) {
  const ScalarOp& facts = scalar_op(op);
  std::string word(facts.word);
  ScalarObject a = scalar_of(x, std::nullopt, word);
  if (facts.on(a.value.dtype()).is == ScalarForm::Is::kNothing)
    type_error(word + " is not defined on " + text_of(a.value.dtype()));
  a.value = te::unary(op, a.value);
  return a;
}

// Two values of one dtype; numbers take the other's.
std::pair<ScalarObject, ScalarObject> pair_of(nb::handle x, nb::handle y, const std::string& what) {
  bool of_x = nb::isinstance<ScalarObject>(x);
  ScalarObject a = of_x ? scalar_of(x, std::nullopt, what) : ScalarObject();
  ScalarObject b = scalar_of(y, of_x ? std::optional(a.value.dtype()) : std::nullopt, what);
  if (!of_x) a = scalar_of(x, b.value.dtype(), what);
  if (a.value.dtype() != b.value.dtype()) {
    type_error(what + " between " + text_of(a.value.dtype()) + " and " + text_of(b.value.dtype()) +
               ": te.cast one to the dtype of the other");
  }
  return {std::move(a), std::move(b)};
}

ScalarObject condition_of(nb::handle object, const std::string& what) {
  ScalarObject condition = scalar_of(object, std::nullopt, what);
  if (!condition.value.dtype().is_bool())
    type_error(what + ": the condition is " + text_of(condition.value.dtype()) + ", not bool");
  return condition;
}

ScalarObject load(const TensorObject& self, nb::handle given, std::optional<te::Bounds> bounds,
                  nb::handle fill) {
  const te::Tensor& tensor = self.tensor;
  if (!self.session->open)
    value_error("this tensor belongs to a compute function that has returned");
  std::vector<nb::object> items;
  if (PyTuple_Check(given.ptr())) {
    for (nb::handle item : nb::borrow<nb::tuple>(given)) items.push_back(nb::borrow(item));
  } else {
    items.push_back(nb::borrow(given));
  }
  if (items.size() != tensor.rank()) {
    throw nb::index_error(("a tensor of rank " + std::to_string(tensor.rank()) + " is read at " +
                           std::to_string(tensor.rank()) + " indices, not " +
                           std::to_string(items.size()))
                              .c_str());
  }
  ScalarObject result{{}, self.session, {}};
  std::vector<te::Scalar> index;
  bool proven = true;
  for (size_t i = 0; i < items.size(); ++i) {
    ScalarObject one = index_scalar(items[i], "index " + std::to_string(i));
    joined(self.session, one.session);
    result.free = joined(result.free, one.free);
    proven = proven && is_within(*one.value.node(), tensor.dim(i), *self.session);
    index.push_back(one.value);
  }
  if (!fill.is_none()) {
    ScalarObject value = scalar_of(fill, tensor.dtype(), "fill");
    if (value.value.node()->kind != te::ScalarKind::kConst || value.value.dtype() != tensor.dtype())
      type_error("fill is a constant of the tensor's dtype, " + text_of(tensor.dtype()));
    result.value = tensor.load_or(index, value.value);
  } else {
    result.value = tensor.load(index, bounds   ? *bounds
                                      : proven ? te::Bounds::kProven
                                               : te::Bounds::kFail);
  }
  return result;
}

ScalarObject broadcast(const TensorObject& self, const nb::args& given) {
  const te::Tensor& tensor = self.tensor;
  if (given.size() < tensor.rank())
    throw nb::index_error("broadcast wants at least an index for each dimension");
  if (!self.session->open)
    value_error("this tensor belongs to a compute function that has returned");
  ScalarObject result{{}, self.session, {}};
  std::vector<te::Scalar> index, mine;
  bool proven = true;
  size_t skipped = given.size() - tensor.rank();
  for (size_t i = 0; i < given.size(); ++i) {
    ScalarObject one = index_scalar(given[i], "an index of broadcast");
    joined(self.session, one.session);
    result.free = joined(result.free, one.free);
    index.push_back(one.value);
    if (i < skipped) continue;
    Dim extent = tensor.dim(i - skipped);
    if (!extent.is_int(1)) proven = proven && is_within(*one.value.node(), extent, *self.session);
    te::Scalar zero = te::index_constant(0);
    if (extent.is_int()) {
      mine.push_back(extent.is_int(1) ? zero : one.value);
    } else {
      te::Scalar is_one = te::from_dim(extent) == te::index_constant(1);
      mine.push_back(te::select(is_one, zero, one.value));
    }
  }
  result.value = proven ? tensor.broadcast(index) : tensor.load(mine, te::Bounds::kFail);
  return result;
}

std::optional<te::Bounds> bounds_of(const std::string& word) {
  if (word == "proven") return te::Bounds::kProven;
  if (word == "clamp") return te::Bounds::kClamp;
  if (word == "wrap") return te::Bounds::kWrap;
  if (word == "fail") return te::Bounds::kFail;
  value_error("bounds is \"" + word +
              "\"; known are \"proven\", \"clamp\", \"wrap\" and \"fail\", and `fill=value`");
}

void bind_scalar_class(nb::module_& m) {
  auto scalar = nb::class_<ScalarObject>(
      m, "Scalar",
      "The value of one element in a tensor expression. Operators of Python make further ones; "
      "numbers take the dtype of the other side.");
  auto operation = [&](const char* name, const char* mirrored, te::BinaryOp op) {
    scalar.def(
        name, [op](nb::handle a, nb::handle b) { return binary(op, a, b); }, nb::arg("other"));
    if (mirrored != nullptr) {
      scalar.def(
          mirrored, [op](nb::handle a, nb::handle b) { return binary(op, b, a); },
          nb::arg("other"));
    }
  };
  using te::BinaryOp;
  operation("__add__", "__radd__", BinaryOp::kAdd);
  operation("__sub__", "__rsub__", BinaryOp::kSub);
  operation("__mul__", "__rmul__", BinaryOp::kMul);
  operation("__floordiv__", "__rfloordiv__", BinaryOp::kFloorDiv);
  operation("__mod__", "__rmod__", BinaryOp::kFloorMod);
  operation("__pow__", "__rpow__", BinaryOp::kPow);
  operation("__and__", "__rand__", BinaryOp::kAnd);
  operation("__or__", "__ror__", BinaryOp::kOr);
  operation("__xor__", "__rxor__", BinaryOp::kXor);
  operation("__lshift__", "__rlshift__", BinaryOp::kShl);
  operation("__rshift__", "__rrshift__", BinaryOp::kShr);
  operation("__lt__", nullptr, BinaryOp::kLt);
  operation("__le__", nullptr, BinaryOp::kLe);
  operation("__gt__", nullptr, BinaryOp::kGt);
  operation("__ge__", nullptr, BinaryOp::kGe);
  auto divide = [](nb::handle x, nb::handle y) {
    auto [a, b] = pair_of(x, y, "a division");
    if (!a.value.dtype().is_float())
      type_error("/ divides floats, not " + text_of(a.value.dtype()) +
                 ": use // (rounds down) or te.truncdiv");
    return apply(BinaryOp::kDiv, a, b);
  };
  scalar.def("__truediv__", divide, nb::arg("other"));
  scalar.def(
      "__rtruediv__", [divide](nb::handle b, nb::handle a) { return divide(a, b); },
      nb::arg("other"));
  scalar.def(
      "__eq__", [](nb::handle a, nb::handle b) { return binary(BinaryOp::kEq, a, b); },
      nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> Scalar"));
  scalar.def(
      "__ne__", [](nb::handle a, nb::handle b) { return binary(BinaryOp::kNe, a, b); },
      nb::arg("other").none(), nb::sig("def __ne__(self, other: object, /) -> Scalar"));
  scalar.def("__neg__", [](nb::handle a) { return unary(te::UnaryOp::kNeg, a); });
  scalar.def("__abs__", [](nb::handle a) { return unary(te::UnaryOp::kAbs, a); });
  scalar.def("__invert__", [](nb::handle a) {
    ScalarObject x = scalar_of(a, std::nullopt, "~");
    return unary(x.value.dtype().is_bool() ? te::UnaryOp::kNot : te::UnaryOp::kBitNot, a);
  });
  scalar.def("__bool__", [](const ScalarObject&) -> bool {
    type_error(
        "a scalar of a tensor expression is not known while it is built: use te.select for `if`, "
        "and &, |, ~ for `and`, `or`, `not`");
  });
  scalar.attr("__hash__") = nb::none();
  scalar.attr("__array_ufunc__") = nb::none();  // NumPy's numbers leave operators to us
  scalar.def_prop_ro("dtype", [](const ScalarObject& self) { return self.value.dtype(); });
  scalar.def(
      "astype",
      [](nb::handle self, DType dtype) {
        ScalarObject x = scalar_of(self, std::nullopt, "astype");
        x.value = te::cast(x.value, dtype);
        return x;
      },
      nb::arg("dtype"));
  scalar.def("__str__", [](const ScalarObject& self) { return te::to_string(*self.value.node()); });
  scalar.def("__repr__", [](const ScalarObject& self) {
    return "<Scalar " + te::to_string(*self.value.node()) + ": " + text_of(self.value.dtype()) +
           ">";
  });
}

}  // namespace

void bind_scalars(nb::module_& m) {
  bind_scalar_class(m);
  nb::class_<TensorObject>(m, "TensorExpr", "A tensor inside of a computation that is built.")
      .def_prop_ro("shape",
                   [](const TensorObject& self) {
                     nb::list dims;
                     for (Dim dim : self.tensor.dims()) dims.append(object_of_dim(dim));
                     return nb::tuple(dims);
                   })
      .def_prop_ro("dtype", [](const TensorObject& self) { return self.tensor.dtype(); })
      .def_prop_ro("ndim", [](const TensorObject& self) { return self.tensor.rank(); })
      .def(
          "__getitem__",
          [](const TensorObject& self, nb::handle index) {
            return load(self, index, std::nullopt, nb::none());
          },
          nb::arg("index"),
          "The element at an index for each dimension. An index that is not seen to be inside is "
          "checked when the program runs.")
      .def(
          "load",
          [](const TensorObject& self, nb::args index, const std::string& bounds, nb::handle fill) {
            return load(self, index, bounds_of(bounds), fill);
          },
          nb::arg("index"), nb::kw_only(), nb::arg("bounds") = "fail",
          nb::arg("fill").none() = nb::none(),
          nb::sig(
              "def load(self, *index: object, bounds: str = 'fail', fill: object | None = None) "
              "-> Scalar"),
          "The element at an index that may lie outside: it is an error there (\"fail\"), the "
          "nearest element (\"clamp\"), the one modulo the extent (\"wrap\"), or the constant "
          "`fill`. \"proven\" promises that it lies inside, and nothing is checked.")
      .def(
          "broadcast",
          [](const TensorObject& self, nb::args given) { return broadcast(self, given); },
          nb::arg("index"), nb::sig("def broadcast(self, *index: object) -> Scalar"),
          "The element under NumPy's broadcasting: there may be more indices than dimensions, and "
          "a dimension of extent 1 is read at 0. An index that is not seen to be inside is checked "
          "when the program runs.")
      .def("__iter__",
           [](const TensorObject&) -> nb::object {
             type_error("a tensor of a computation cannot be iterated over: map over its shape");
           })
      .def("__repr__", [](const TensorObject& self) {
        std::string text = "<tensor (";
        for (size_t i = 0; i < self.tensor.rank(); ++i)
          text += (i > 0 ? ", " : "") + self.tensor.dim(i).str();
        return text + ") " + text_of(self.tensor.dtype()) + ">";
      });

  m.def(
      "te_unary",
      [](const std::string& op, nb::handle x) {
        return unary(named<decltype(kUnaryOps), te::UnaryOp>(kUnaryOps, op, "unary"), x);
      },
      nb::arg("op"), nb::arg("x"));
  m.def(
      "te_binary",
      [](const std::string& op, nb::handle a, nb::handle b) {
        return binary(named<decltype(kBinaryOps), te::BinaryOp>(kBinaryOps, op, "binary"), a, b);
      },
      nb::arg("op"), nb::arg("a"), nb::arg("b"));
  m.def(
      "te_const",
      [](nb::handle value, std::optional<DType> dtype) {
        if (nb::isinstance<ScalarObject>(value))
          type_error("te.const takes a number, not a scalar");
        return scalar_of(value, dtype, "te.const");
      },
      nb::arg("value"), nb::arg("dtype") = nb::none());
  m.def(
      "te_cast",
      [](nb::handle x, DType dtype) {
        ScalarObject value = scalar_of(x, std::nullopt, "te.cast");
        value.value = te::cast(value.value, dtype);
        return value;
      },
      nb::arg("x"), nb::arg("dtype"));
  m.def(
      "te_bitcast",
      [](nb::handle x, DType dtype) {
        ScalarObject value = scalar_of(x, std::nullopt, "te.bitcast");
        if (value.value.dtype().size() != dtype.size())
          type_error("te.bitcast of " + text_of(value.value.dtype()) + " to " + text_of(dtype) +
                     ", which is not as wide");
        value.value = te::bitcast(value.value, dtype);
        return value;
      },
      nb::arg("x"), nb::arg("dtype"));
  m.def(
      "te_select",
      [](nb::handle condition, nb::handle x, nb::handle y) {
        ScalarObject c = condition_of(condition, "te.select");
        auto [a, b] = pair_of(x, y, "te.select");
        ScalarObject values = both(a, b, te::select(c.value, a.value, b.value));
        return both(c, values, values.value);
      },
      nb::arg("condition"), nb::arg("x"), nb::arg("y"));
  m.def(
      "te_fail_unless",
      [](nb::handle condition, nb::handle x, std::string message) {
        ScalarObject c = condition_of(condition, "te.fail_unless");
        ScalarObject value = scalar_of(x, std::nullopt, "te.fail_unless");
        return both(c, value, te::fail_unless(c.value, value.value, std::move(message)));
      },
      nb::arg("condition"), nb::arg("value"), nb::arg("message"));
  m.def(
      "te_limit",
      [](DType dtype, bool highest) {
        return ScalarObject{highest ? te::highest(dtype) : te::lowest(dtype), nullptr, {}};
      },
      nb::arg("dtype"), nb::arg("highest"));
}

}  // namespace relay::python
