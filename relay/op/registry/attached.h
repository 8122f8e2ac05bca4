// Functions that someone has attached to operators under a key, for passes that rewrite by them.
#pragma once

#include <string_view>

#include <relay/op/op.h>

namespace relay {

/// Keys that passes of the library read. Others are for `Legalize` with a key of the caller's.
inline constexpr std::string_view kLegalizeKey = "FTVMLegalize";
inline constexpr std::string_view kQnnLegalizeKey = "FTVMQnnLegalize";
inline constexpr std::string_view kAlterLayoutKey = "FTVMAlterOpLayout";

/// Attaches a function to an operator: it gets a typed call and its arguments, and gives what
/// stands in the place of the call, or null. A function of a lower level does not replace one of a
/// higher level; an empty function of any level takes away what is there. Threads may attach and
/// ask at the same time.
void attach_rewrite(const Operator* op, std::string_view key, ExpandFn rewrite, int level = 10);
/// The function that is attached; empty for none.
ExpandFn attached_rewrite(const Operator* op, std::string_view key);
/// True if a function is attached to any operator under the key.
bool any_attached(std::string_view key);

}  // namespace relay
