// SimplifyInference: what an operator becomes when a network no longer learns.
#pragma once

#include <relay/op/op.h>

namespace relay {

/// How SimplifyInference writes a call of an operator in terms of simpler ones. For an operator
/// with several results: its first result (others keep the call).
OpColumn<ExpandFn>& simplified_for_inference();

}  // namespace relay
