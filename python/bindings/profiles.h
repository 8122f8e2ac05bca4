// Rows of `Executable.profile`.
#pragma once

#include <bindings/bindings.h>

#include <relay/vm/machine/executable.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

/// A dictionary for each kernel that ran.
nb::list profile_rows(const vm::Executable& executable, const vm::Profile& profile);

}  // namespace relay::python
