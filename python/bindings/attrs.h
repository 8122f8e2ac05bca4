// Attributes from what Python has for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <bindings/casters.h>

namespace relay::python {

/// The entries of a dictionary of attributes, in its order. `what` is said of a value that cannot
/// be one. Raises TypeError.
std::vector<NamedAttr> named_attrs_of(
    nb::dict given, const std::function<std::string(Name name, nb::handle value)>& what);
/// Free-form attributes from a dictionary. Raises TypeError.
AttrsRef dict_attrs_of(nb::dict given);
/// The type of an operator's attributes by its name; that of dictionaries is `DictAttrs`. Raises
/// ValueError for another name.
const AttrsSchema* schema_of_type(const Name& type_key);
/// Attributes by the name of their type, as calls of some operator have them.
AttrsRef attrs_of_type(const Name& type_key, nb::dict given);
/// The possible values of an attribute, for messages.
constexpr const char* kAttrValues =
    "an attribute is None, a bool, a number, a text, a dtype, an expression, a list of such, or a "
    "dictionary of such by texts";

}  // namespace relay::python
