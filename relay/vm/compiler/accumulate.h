// Finds the references that grow by what is added to them.
#pragma once

#include <relay/ir/effects.h>
#include <relay/ir/expr.h>

namespace relay::vm {

/// The function with `ref_write(r, ref_read(r) + x)` as one step: a call of a function marked
/// `Primitive` and `Accumulate`, with the reference and x. This is done for small tensors of floats
/// if nothing else needs the old content or the sum, and nothing with an effect runs in between.
///
/// The backward function of a gradient adds to a cell for each operand. Two cells may be one, so
/// that each read of one would wait for the write before it, and end a graph. The graph that
/// computes x adds it instead, in place, to what the cell holds when it begins
/// (`Op::kRunGraph`); or the machine does so behind the graph (`Op::kRefAdd`).
relay::FunctionRef with_accumulations(const relay::FunctionRef& function, const Effects& effects);

/// True for the functions that `with_accumulations` makes.
bool is_accumulation(const relay::Function& function);

}  // namespace relay::vm
