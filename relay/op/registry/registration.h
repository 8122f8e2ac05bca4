// Operators that come while others are at work: from Python.
#pragma once

#include <functional>
#include <string_view>

#include <relay/op/op.h>

namespace relay {

/// Declares an operator as `declare_op` does; `declare` says all of it before anybody can find it.
/// If that throws, there is no such operator.
const Operator* register_op(std::string_view name, const std::function<void(OpBuilder&)>& declare);

/// Declares an operator anew, in place: who holds it sees what is said now. `declare` says all of
/// it but gradient and columns, which stay, and does not throw. Nobody else may be using the
/// operator.
void amend_op(const Operator* op, const std::function<void(OpBuilder&)>& declare);

/// Whether anything holds an operator that was taken out of the registry, or a gradient derived
/// from it: a program, a function that makes calls of it.
bool is_held(const Operator* op);

}  // namespace relay
