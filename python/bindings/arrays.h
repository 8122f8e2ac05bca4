// Arrays in and out.
#pragma once

#include <bindings/casters.h>

#include <relay/runtime/ndarray.h>

namespace relay::python {

/// A tensor from any object that NumPy takes as one: foreign memory is shared if possible. Numbers
/// and lists of numbers get the `wanted` dtype as in `plain_array`; an array of another dtype is
/// converted. Throws Refusal (numbers.h) with the reason.
NDArray array_of(nb::handle object, std::optional<DType> wanted = {});
/// The memory of a program's result, handed over so that another result may be written over it;
/// empty for every other object.
NDArray given_array(nb::handle object);
/// A dtype of NumPy that makes elements of so many bytes unreadable: a structure whose only field
/// has the text as its name, which NumPy's errors then show.
nb::object unreadable_dtype(const std::string& text, size_t bytes);
/// The text of such an array; empty for others.
std::string unreadable_text(nb::handle dtype);
/// The array that NumPy makes of an object; throws Refusal.
nb::object numpy_array_of(nb::handle object);
/// A NumPy array of the same memory.
nb::object numpy_of(const NDArray& array, bool writeable = false);

/// The class `Watch`, which needs that of arrays.
void bind_watch(nb::module_& m);

}  // namespace relay::python
