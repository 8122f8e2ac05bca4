#include <bindings/numbers.h>

#include <cmath>
#include <vector>

#include <bindings/arrays.h>
#include <bindings/bindings.h>

namespace relay::python {

void Refusal::raise(const std::string& where) const {
  std::string text = where.empty() ? what() : where + ": " + what();
  if (cause_) {
    nb::python_error cause(*cause_);
    nb::raise_from(cause, type_, "%s", text.c_str());
  }
  PyErr_SetString(type_, text.c_str());
  throw nb::python_error();
}

bool is_plain(nb::handle object) {
  return PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()) || PyList_Check(object.ptr()) ||
         PyTuple_Check(object.ptr());
}

namespace {

[[noreturn]] void refuse_range(const std::string& number, DType dtype) {
  throw Refusal(number + " does not fit " + std::string(dtype.name()), PyExc_OverflowError);
}

// Finite numbers stay finite.
NDArray rounded(const NDArray& array, DType dtype) {
  NDArray result = array.cast(dtype);
  NDArray before = array.cast(kFloat64).contiguous();
  NDArray after = result.cast(kFloat64).contiguous();
  const auto* from = static_cast<const double*>(before.raw());
  const auto* to = static_cast<const double*>(after.raw());
  for (int64_t i = 0; i < before.size(); ++i) {
    if (std::isfinite(from[i]) && !std::isfinite(to[i]))
      refuse_range(shown(nb::float_(from[i])), dtype);
  }
  return result;
}

// True if `dtype`, which is not a floating-point one, has an integer; `value` holds its bits.
bool has_integer(DType dtype, int64_t value, bool above_int64) {
  if (above_int64) return dtype == kUInt64;
  int64_t least = 0, greatest = INT64_MAX;
  if (dtype == kBool) {
    greatest = 1;
  } else if (dtype.code == DTypeCode::kInt) {
    greatest = INT64_MAX >> (64 - dtype.bits);
    least = -greatest - 1;
  } else if (dtype.bits < 64) {
    greatest = (int64_t{1} << dtype.bits) - 1;
  }
  return least <= value && value <= greatest;
}

// A Python integer of any size.
NDArray integer(nb::handle number, DType dtype) {
  if (dtype.is_float()) {
    double value = PyLong_AsDouble(number.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse_range(shown(number), dtype);
    }
    return rounded(NDArray::scalar(value), dtype);
  }
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow > 0) {
    value = static_cast<int64_t>(PyLong_AsUnsignedLongLong(number.ptr()));
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      overflow = -1;
    }
  }
  if (overflow < 0 || !has_integer(dtype, value, overflow > 0)) refuse_range(shown(number), dtype);
  return NDArray::scalar(value).cast(dtype);
}

NDArray number_array(nb::handle number, DType dtype) {
  if (PyLong_Check(number.ptr())) return integer(number, dtype);
  if (!dtype.is_float())
    throw Refusal("expected " + std::string(dtype.name()) + ", found the float " + shown(number));
  return rounded(NDArray::scalar(PyFloat_AsDouble(number.ptr())), dtype);
}

// The elements of a list one by one: for those of which NumPy makes something else, and to tell
// which one is wrong.
NDArray elementwise(nb::handle list, DType dtype, nb::handle made) {
  nb::module_ numpy = nb::module_::import_("numpy");
  nb::object elements = numpy.attr("asarray")(list, nb::str("object"));
  nb::tuple shape = nb::tuple(elements.attr("shape"));
  std::vector<std::byte> bytes;
  for (nb::handle element : nb::iter(elements.attr("reshape")(-1))) {
    nb::object number = nb::borrow(element);
    if (nb::hasattr(number, "item") && nb::hasattr(number, "dtype")) number = number.attr("item")();
    if (!PyFloat_Check(number.ptr()) && !PyLong_Check(number.ptr()))
      throw Refusal("expected numbers of " + std::string(dtype.name()) + ", found " +
                    shown(number));
    NDArray converted = number_array(number, dtype);
    const auto* at = static_cast<const std::byte*>(converted.raw());
    bytes.insert(bytes.end(), at, at + converted.byte_size());
  }
  std::vector<int64_t> extents;
  for (nb::handle extent : nb::tuple(made.attr("shape")))
    extents.push_back(nb::cast<int64_t>(extent));
  if (nb::len(shape) != extents.size())
    throw Refusal("expected numbers of " + std::string(dtype.name()) + ", found " + shown(list));
  return NDArray::from_bytes(extents, dtype, bytes);
}

}  // namespace

NDArray exact_array(const NDArray& array, DType dtype) {
  if (array.dtype() == dtype) return array;
  if (dtype.is_float()) return rounded(array, dtype);
  if (array.dtype().is_float()) {
    throw Refusal("expected " + std::string(dtype.name()) + ", found numbers of " +
                  std::string(array.dtype().name()));
  }
  bool big = array.dtype() == kUInt64;
  NDArray wide = (big ? array : array.cast(kInt64)).contiguous();
  const auto* values = static_cast<const int64_t*>(wide.raw());
  for (int64_t i = 0; i < wide.size(); ++i) {
    bool above = big && values[i] < 0;
    if (has_integer(dtype, values[i], above)) continue;
    refuse_range(
        above ? std::to_string(static_cast<uint64_t>(values[i])) : std::to_string(values[i]),
        dtype);
  }
  return array.cast(dtype);
}

NDArray plain_array(nb::handle object, DType dtype) {
  if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) return number_array(object, dtype);
  nb::object made = numpy_array_of(object);
  std::string code = nb::cast<std::string>(made.attr("dtype").attr("kind"));
  bool empty = nb::cast<int64_t>(made.attr("size")) == 0;
  if (code == "f" && empty) return array_of(made).cast(dtype);
  bool numbers = code == "b" || code == "i" || code == "u" || (code == "f" && dtype.is_float());
  return numbers ? exact_array(array_of(made), dtype) : elementwise(object, dtype, made);
}

NDArray plain_number(nb::handle number) {
  if (PyBool_Check(number.ptr())) return NDArray::scalar(number.ptr() == Py_True);
  if (PyFloat_Check(number.ptr())) return number_array(number, kFloat32);
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  bool narrow = overflow == 0 && has_integer(kInt32, value, false);
  return integer(number, narrow ? kInt32 : kInt64);
}

}  // namespace relay::python
