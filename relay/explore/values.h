// The values that nodes of a program have in a run.
#pragma once

#include <vector>

#include <relay/explore/document.h>
#include <relay/explore/json_writer.h>

namespace relay::explore {

/// The field `values`: `[[node of the first stage, statistics]…]` for the tensors that the entry's
/// own body computes, not those of functions and branches in it. Runs a program that gives all of
/// them back. Throws `Error` if it cannot be compiled or run, or has effects.
void write_values(JsonWriter& json, const Module& module, Name entry,
                  const std::vector<Value>& arguments, const Options& options);

}  // namespace relay::explore
