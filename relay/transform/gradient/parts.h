// The two ways to the gradient of a function.
#pragma once

#include <relay/transform/gradient/gradient.h>

namespace relay::grad {

class Loops;

/// The position of parameters that get gradients, for each parameter.
std::vector<bool> chosen_params(const Function& function, const GradientForm& form);
/// The result of the gradient from its parts.
ExprRef result_in_form(const GradientForm& form, ExprRef value, std::vector<ExprRef> gradients);
/// Refuses a result without floats.
void require_float_result(const Function& function, const GradientForm& form);

/// A typed function with the calls of functions that are known and not recursive replaced by their
/// bodies.
FunctionRef with_calls_inlined(const FunctionRef& function, const Module& module);
/// The first node that `dataflow_gradient` does not take, null if it takes the function.
const Expr* not_dataflow(const Function& function, Loops* loops = nullptr);
/// The gradient of a function of operators, tuples, lets and ifs, and of calls of loops.
FunctionRef dataflow_gradient(const Function& function, const GradientForm& form,
                              Loops* loops = nullptr);
/// The function, which is `own` in `whole`, with the loops inside of it as global functions.
FunctionRef with_global_loops(FunctionRef function, Module& whole, const Name& own);
/// The gradient of a function of these, where all functions that it calls are loops; else null.
FunctionRef loop_gradient(const Module& whole, const FunctionRef& function, Module& module,
                          const GradientForm& form);

/// The gradient of any function of the module, by name; `module` gets what it calls.
FunctionRef lifted_gradient(const Module& whole, const Name& name, Module& module,
                            const GradientForm& form);

}  // namespace relay::grad
