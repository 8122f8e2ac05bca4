// The columns of facts that some operators have and passes ask for. Each entry stands in the
// operator's declaration: `.column(one_dtype(), {0, kOutput})`.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/op/op.h>

namespace relay {

constexpr uint32_t kOutput = UINT32_MAX;

/// The inputs of an operator that have one dtype in every use of it, the fields of tuples among
/// them, and last kOutput if the result has it too: what T3 knows of an operator whose relation has
/// no form of its own, so that numbers among these inputs take the dtype of the others (T4).
OpColumn<std::vector<uint32_t>>& one_dtype();

/// The operators that are shorthand: how CanonicalizeOps writes a call with operators that other
/// passes know better. Uses each argument once, so that effects in them stay as they are.
OpColumn<ExpandFn>& canonical_form();

/// What a call becomes when a network no longer learns (SimplifyInference). For an operator with
/// several results: its first result (others keep the call).
OpColumn<ExpandFn>& simplified_for_inference();

/// How a compiled program writes a call if the extents of its result are no terms over integers:
/// with one that counts first. Null if they are.
OpColumn<ExpandFn>& counted_form();

}  // namespace relay
