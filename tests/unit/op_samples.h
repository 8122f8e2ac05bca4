// Calls of operators with values, from the examples in their declarations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/op/op.h>
#include <relay/runtime/value.h>

namespace relay {

/// One call of an operator, with values.
struct Sample {
  const Operator* op = nullptr;
  AttrsRef attrs;
  std::vector<Value> arguments;
  std::vector<bool> constant;  // written in the program, so known when it is compiled
};

/// The tensors in a value changed one by one.
Value map_tensors(const Value& value, const std::function<NDArray(const NDArray&)>& change);
std::vector<NDArray> tensors_of(const Value& value);

/// Visits the calls in all examples, but for operators that have effects: they would be seen.
void each_sample(const std::function<void(const Sample&)>& visit);

/// The call with another value of an attribute. Throws `Error` where it cannot have that.
Sample with_attribute(const Sample& sample, Name name, AttrValue value);

/// A program that makes the call, and its arguments.
struct SampleProgram {
  FunctionRef function;
  std::vector<Value> arguments;
};
SampleProgram program_of(const Sample& sample);

/// Why inference refuses the call; empty if it does not.
std::string refusal_of(const Sample& sample);

}  // namespace relay
