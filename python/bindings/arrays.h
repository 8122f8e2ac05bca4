// Arrays in and out.
#pragma once

#include <bindings/casters.h>

#include <relay/runtime/ndarray.h>

namespace relay::python {

/// A tensor of anything that is one for NumPy: foreign memory is shared where it can be. Numbers
/// and lists of numbers get the dtype that is `wanted` as `plain_array` says; an array of another
/// dtype is converted. Throws Refusal (numbers.h) that says why not.
NDArray array_of(nb::handle object, std::optional<DType> wanted = {});
/// What NumPy makes of an object; throws Refusal.
nb::object numpy_array_of(nb::handle object);
/// A NumPy array of the same memory.
nb::object numpy_of(const NDArray& array, bool writeable = false);

}  // namespace relay::python
