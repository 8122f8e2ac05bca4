// Numbers of Python as tensors, without another number in the place of one.
#pragma once

#include <memory>
#include <string>

#include <bindings/casters.h>

#include <relay/runtime/ndarray.h>

namespace relay::python {

/// The reason why an object is not a tensor, or not one of the wanted dtype: a TypeError, unless it
/// is raised as something else.
class Refusal : public nb::builtin_exception {
 public:
  explicit Refusal(const std::string& why, PyObject* type = PyExc_TypeError)
      : nb::builtin_exception(nb::exception_type::type_error, why.c_str()), type_(type) {}
  /// With the Python exception that was caught.
  Refusal(const std::string& why, const nb::python_error& cause) : Refusal(why) {
    cause_ = std::make_shared<nb::python_error>(cause);
  }
  /// "WHERE: why", with the cause as `__cause__`.
  [[noreturn]] void raise(const std::string& where = "") const;

 private:
  PyObject* type_;
  std::shared_ptr<nb::python_error> cause_;
};

/// Numbers of Python and (nested) lists and tuples of them.
bool is_plain(nb::handle object);

/// Numbers as a tensor of `dtype`. Integers and truth values convert to any dtype that has them,
/// floats only to floats; floats are rounded like literals of programs. Throws Refusal for floats
/// in place of integers, and for numbers that would change or become infinite.
NDArray plain_array(nb::handle object, DType dtype);
/// The same of an array, whatever its dtype.
NDArray exact_array(const NDArray& array, DType dtype);
/// A number in the dtype that literals have in programs: float32, int32, int64 if they need it.
NDArray plain_number(nb::handle number);

}  // namespace relay::python
