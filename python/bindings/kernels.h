// Library kernels that are Python functions over NumPy arrays.
#pragma once

#include <bindings/callbacks.h>

#include <relay/op/op.h>
#include <relay/vm/machine/executable.h>

namespace relay::python {

/// Makes the computation of a call one run of a Python function. It is given the inputs as
/// read-only arrays, the attributes by name and, if it wants them, arrays for its results (`out`).
void call_python_kernel(const Callback& function, bool wants_out, const OpCall& call,
                        te::Builder& b);

/// The executable, which keeps the operators whose Python functions it calls.
std::shared_ptr<const vm::Executable> with_operators(
    std::shared_ptr<const vm::Executable> executable);

/// Programs that call Python functions mean something in their own process alone. Throws Error that
/// names the operator.
void require_portable(const vm::Executable& executable);
/// The same for a program from a file, which cannot know the functions of this process.
void refuse_python_kernels(const vm::Executable& executable, const std::string& file);

}  // namespace relay::python
