// The parts of the extension module, each in a file of its own.
#pragma once

#include <functional>

#include <bindings/casters.h>

namespace relay::python {

/// Calls Python from the library. A RelayError that it raises becomes an Error again, so that
/// passes can collect it; when it gets back to Python its `__cause__` is the exception that was
/// raised, with its traceback. Others go through as they are.
nb::object call_back(const std::function<nb::object()>& call);

/// An argument of an operator: an expression, a tuple or list of such, a number, an array.
ExprRef expr_of(nb::handle object);
/// The operator of an `Op` or a name; throws nb::key_error.
const Operator* operator_of(nb::handle op);

void bind_errors(nb::module_& m);
void bind_spans(nb::module_& m);
void bind_dims(nb::module_& m);
void bind_types(nb::module_& m);
void bind_attrs(nb::module_& m);
void bind_arrays(nb::module_& m);
void bind_exprs(nb::module_& m);
void bind_patterns(nb::module_& m);
void bind_modules(nb::module_& m);
void bind_visits(nb::module_& m);
void bind_analyses(nb::module_& m);
void bind_operators(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_computations(nb::module_& m);
void bind_registration(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_reduce(nb::module_& m);
void bind_execution(nb::module_& m);

}  // namespace relay::python
