// The flow of layouts through operators whose attributes name axes.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <relay/op/registry/layout_flow.h>

namespace relay {

/// The arrangement with other letters for the axes; nothing if they are not as many.
std::optional<Arrangement> with_letters(const Arrangement& arrangement, const std::string& axes);

/// The call with the new numbers of the axes that its attributes name, on a first input of another
/// layout. Where the axes of the results come from is found by asking the relation about tensors
/// whose extents tell the axes apart. Nothing if that does not say it. Throws `Error`.
std::optional<CallFlow> flow_axes(const OpCall& call, std::span<const Arrangements> offered);

}  // namespace relay
