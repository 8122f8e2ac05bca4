// Exceptions made by hand.
#pragma once

#include <string>

#include <bindings/casters.h>

#include <relay/support/error.h>

namespace relay::python {

/// An InternalError as an exception; a note for an exception (of Python 3.11 and later), once.
nb::object object_of_defect(const InternalError& error);
void add_note(nb::handle exception, const std::string& text);

}  // namespace relay::python
