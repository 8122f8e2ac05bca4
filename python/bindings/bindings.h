// The parts of the extension module, each in a file of its own.
#pragma once

#include <bindings/casters.h>

namespace relay::python {

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
void bind_operators(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_execution(nb::module_& m);

}  // namespace relay::python
