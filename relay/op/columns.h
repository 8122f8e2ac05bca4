// The columns of facts that some operators have and passes ask for. Each entry stands in the
// operator's declaration: `.column(canonical_form(), …)`.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// The operators that are shorthand: how CanonicalizeOps writes a call with operators that other
/// passes know better. Uses each argument once, so that effects in them stay as they are.
OpColumn<ExpandFn>& canonical_form();

/// What a call becomes when a network no longer learns (SimplifyInference). For an operator with
/// several results: its first result (others keep the call).
OpColumn<ExpandFn>& simplified_for_inference();

/// The operators of quantised networks, which take or give the scales and zero points of their
/// numbers: constant folding leaves them to passes that know them, unless it is asked to.
OpColumn<bool>& quantised();

/// How a compiled program writes a call if the extents of its result are no terms over integers:
/// with one that counts first. Null if they are.
OpColumn<ExpandFn>& counted_form();

}  // namespace relay
