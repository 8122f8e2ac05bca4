// Declares operators while others are in use: from Python.
#pragma once

#include <functional>
#include <string_view>

#include <relay/op/op.h>

namespace relay {

/// Declares an operator like `declare_op`. `declare` completes it before other threads can find it.
/// If that throws, the operator does not exist.
const Operator* register_op(std::string_view name, const std::function<void(OpBuilder&)>& declare);

/// Declares an operator anew, in place, so its holders see the new declaration. `declare` gives all
/// of it but gradient and columns, which stay, and does not throw. No other thread may be using the
/// operator.
void amend_op(const Operator* op, const std::function<void(OpBuilder&)>& declare);

/// True if anything holds an operator that was removed from the registry, or a gradient derived
/// from it: a program, or a function that makes calls of it.
bool is_held(const Operator* op);

}  // namespace relay
