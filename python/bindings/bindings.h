// The parts of the extension module, each in a file of its own.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <bindings/casters.h>
#include <bindings/lock.h>

#include <relay/op/op.h>

namespace relay::python {

/// Calls Python from the library. A RelayError that it raises becomes an Error again, so that
/// passes can collect it; when it gets back to Python its `__cause__` is the exception that was
/// raised, with its traceback. Others go through as they are.
nb::object call_back(const std::function<nb::object()>& call);

/// An argument of an operator: an expression, a tuple or list of such, a number, an array.
ExprRef expr_of(nb::handle object);
/// The operator of an `Op` or a name; throws nb::key_error.
const Operator* operator_of(nb::handle op);

/// Calls a function of a user's. To be used instead of `callable(…)`: at the end of the process
/// Python unwinds the stacks of other threads, which wait here for the end instead.
nb::object call_python(nb::handle callable, std::initializer_list<nb::handle> arguments = {});

/// An object as messages name it: the name of its class; its repr, shortened.
std::string class_name(nb::handle object);
std::string shown(nb::handle object);

/// The object as a T; raises TypeError "WANTED, not …".
template <class T>
T required(nb::handle object, const std::string& wanted) {
  T value;
  if (!nb::try_cast(object, value))
    throw nb::type_error((wanted + ", not " + shown(object)).c_str());
  return value;
}

/// The items as a vector, which becomes a list of Python.
template <class T>
std::vector<T> list(std::span<const T> items) {
  return {items.begin(), items.end()};
}
template <class T>
std::vector<T> list(const std::vector<T>& items) {
  return items;
}

/// The attributes of a call of an operator from a dictionary, null if it has none. Raises TypeError
/// and RelayError.
AttrsRef op_attrs(const Operator* op, nb::handle given);

/// While it lives, this nests one level deeper; raises RecursionError beyond Python's limit.
class RecursionScope {
 public:
  explicit RecursionScope(const char* where) {
    if (Py_EnterRecursiveCall(where) != 0) throw nb::python_error();
  }
  ~RecursionScope() { Py_LeaveRecursiveCall(); }
  RecursionScope(const RecursionScope&) = delete;
  RecursionScope& operator=(const RecursionScope&) = delete;
};

void bind_errors(nb::module_& m);
void bind_spans(nb::module_& m);
void bind_dims(nb::module_& m);
void bind_types(nb::module_& m);
void bind_attrs(nb::module_& m);
void bind_arrays(nb::module_& m);
void bind_exprs(nb::module_& m);
void bind_patterns(nb::module_& m);
void bind_dataflow_patterns(nb::module_& m);
void bind_modules(nb::module_& m);
void bind_visits(nb::module_& m);
void bind_analyses(nb::module_& m);
void bind_transforms(nb::module_& m);
void bind_operators(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_computations(nb::module_& m);
void bind_code_generators(nb::module_& m);
void bind_onnx(nb::module_& m);
void bind_registration(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_reduce(nb::module_& m);
void bind_execution(nb::module_& m);

}  // namespace relay::python
