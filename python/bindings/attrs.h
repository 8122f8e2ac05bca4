// Attributes from what Python has for them.
#pragma once

#include <bindings/casters.h>

namespace relay::python {

/// Free-form attributes from a dictionary. Raises TypeError.
AttrsRef dict_attrs_of(nb::dict given);
/// Attributes by the name of their type, as calls of some operator have them.
AttrsRef attrs_of_type(const Name& type_key, nb::dict given);
/// What the value of an attribute may be, for messages.
constexpr const char* kAttrValues =
    "an attribute is None, a bool, a number, a text, a dtype, an expression, or a list of such";

}  // namespace relay::python
