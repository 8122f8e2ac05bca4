// Puts functions that are called once in the place of the call.
#pragma once

#include <span>

#include <relay/ir/module.h>

namespace relay::vm {

/// The module with the body of each function that is called once in the place of that call, if the
/// function is dataflow: operators on tensors of known extents, tuples and lets. What the call
/// reads and what the function computes are one graph then, whose memory is planned as a whole. A
/// global function that may fail stays, since an error lists the calls that led to it. References
/// count in what the entries reach. The module must be typed, without devices.
Module inline_once(const Module& module, std::span<const Name> entries);

}  // namespace relay::vm
