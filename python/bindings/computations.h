// Tensor expressions in Python: what `compute` functions of operators are written with.
#pragma once

#include <functional>

#include <bindings/casters.h>

#include <relay/op/op.h>

namespace relay::python {

/// Lets a Python function build the computation of a call: `body(builder, inputs)` gets the
/// builder's object and a list of the inputs (a list for a tuple of tensors) and returns the
/// results. Throws Error for results that do not fit the call's type. With the GIL held.
te::Computation compute_in_python(
    const OpCall& call, const std::function<nb::object(nb::object builder, nb::list inputs)>& body);

}  // namespace relay::python
