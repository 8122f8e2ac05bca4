// Continuation-passing style: functions that give their result to a function instead of returning.
#pragma once

#include <functional>

#include <relay/program/program.h>

namespace relay {

/// The function, one of the program, with everything that takes time or has an effect bound by a
/// let: what `to_cps` takes, once it is typed.
FunctionRef before_cps(const Program& program, const FunctionRef& function);

/// A function that `before_cps` gave, typed, in continuation-passing style:
/// `fn (%x: T) -> R {…}` becomes `fn<answer>(%x: T, %k: fn (R) -> answer) -> answer {…}`.
///
/// Calls of operators, constructors and functions marked `Primitive` stay; all other calls are tail
/// calls with a continuation. What follows an `if` or `match` is one function that all branches
/// call. Order of effects and sharing are kept. `renamed` gives the name of the form of another
/// global function in this style, or an empty one if the function, one of `module`, is called as it
/// is; as a value it gets a function in this style around it. Where the
/// signature is not known, its types are left to inference. A relation that a function states
/// without arguments goes; the body implies it.
FunctionRef to_cps(const FunctionRef& function, const std::function<Name(const Name&)>& renamed,
                   const Module& module);

/// True if a function that is typed or declares its signature has the form that `to_cps` gives: the
/// last parameter takes the result, and both give the same type parameter of the function.
bool is_cps(const Function& function);

/// True if a function in this style gives its continuation functions in this style: their answers
/// are those of the continuation, so that no function that returns can stand for it.
bool gives_cps(const Function& function);

/// A function that calls `callee`, which has the type of `function`, one in continuation-passing
/// style, with the identity as continuation and returns the result. Throws `Error` for a function
/// in another form, and for one that `gives_cps`.
FunctionRef un_cps(const Function& function, const ExprRef& callee);

/// The module with all functions in this style, but kernels (`Primitive`) and what somebody else
/// compiles (`Compiler`, `Extern`).
Module module_to_cps(const Module& module);
/// A function beside a module in this style. The module gets a form in this style of each function
/// that it reaches, under the name `NAME_cps`. Throws `Error` if it has no types.
FunctionRef function_to_cps(const FunctionRef& function, Module& module);

}  // namespace relay
